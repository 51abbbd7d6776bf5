package estate

import (
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
)

// The faults of this context. Those of package access are common to all contexts.
var (
	// HostNotFound is a host that no run reported, or none that the caller may read.
	HostNotFound   = fault.Code{Name: "host_not_found", Kind: fault.NotFound}
	ChangeNotFound = fault.Code{Name: "change_not_found", Kind: fault.NotFound}
	IgnoreNotFound = fault.Code{Name: "drift_ignore_not_found", Kind: fault.NotFound}
	// NoDrift is a host without findings that could be repaired.
	NoDrift = fault.Code{Name: "no_drift", Kind: fault.Conflict}
	// Reconciling is a host whose findings an earlier run would repair, which has not ended.
	Reconciling     = fault.Code{Name: "drift_reconciling", Kind: fault.Conflict}
	TooManyIgnores  = fault.Code{Name: "too_many_drift_ignores", Kind: fault.Conflict}
	NotAllowed      = access.NotAllowed
	NameTaken       = access.NameTaken
	RevisionChanged = access.RevisionChanged
)
