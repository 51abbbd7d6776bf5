package scheduling

import (
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
)

// The faults of this context. Those of package access are the same in every context.
var (
	ScheduleNotFound = fault.Code{Name: "schedule_not_found", Kind: fault.NotFound}
	TriggerNotFound  = fault.Code{Name: "trigger_not_found", Kind: fault.NotFound}
	BadSignature     = fault.Code{Name: "bad_signature", Kind: fault.Unauthenticated}
	NotAllowed       = access.NotAllowed
	NameTaken        = access.NameTaken
	RevisionChanged  = access.RevisionChanged
)

// Codes lists every fault that only this context has.
func Codes() []fault.Code {
	return []fault.Code{ScheduleNotFound, TriggerNotFound, BadSignature}
}
