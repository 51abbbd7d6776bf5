package scheduling

import "github.com/writ-automation/writ/ports/fault"

// The faults of this context. Some have the names that other contexts give the same thing.
var (
	ScheduleNotFound = fault.Code{Name: "schedule_not_found", Kind: fault.NotFound}
	TriggerNotFound  = fault.Code{Name: "trigger_not_found", Kind: fault.NotFound}
	BadSignature     = fault.Code{Name: "bad_signature", Kind: fault.Unauthenticated}
	NotAllowed       = fault.Code{Name: "forbidden", Kind: fault.Forbidden}
	NameTaken        = fault.Code{Name: "name_taken", Kind: fault.Conflict}
	RevisionChanged  = fault.Code{Name: "precondition_failed", Kind: fault.Stale}
)

// Codes lists every fault of this context.
func Codes() []fault.Code {
	return []fault.Code{ScheduleNotFound, TriggerNotFound, BadSignature, NotAllowed, NameTaken, RevisionChanged}
}
