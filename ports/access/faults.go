package access

import "github.com/writ-automation/writ/ports/fault"

// The faults that all kinds of objects share.
var (
	NotAllowed      = fault.Code{Name: "forbidden", Kind: fault.Forbidden}
	ObjectNotFound  = fault.Code{Name: "object_not_found", Kind: fault.NotFound}
	UseRequired     = fault.Code{Name: "use_required", Kind: fault.Forbidden}
	NameTaken       = fault.Code{Name: "name_taken", Kind: fault.Conflict}
	RevisionChanged = fault.Code{Name: "precondition_failed", Kind: fault.Stale}
)
