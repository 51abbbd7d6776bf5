package scheduling

import (
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
)

// The faults of this context. Those of package access are common to all contexts.
var (
	ScheduleNotFound = fault.Code{Name: "schedule_not_found", Kind: fault.NotFound}
	TriggerNotFound  = fault.Code{Name: "trigger_not_found", Kind: fault.NotFound}
	BadSignature     = fault.Code{Name: "bad_signature", Kind: fault.Unauthenticated}
	NotAllowed       = access.NotAllowed
	NameTaken        = access.NameTaken
	RevisionChanged  = access.RevisionChanged
)
