package policy

import (
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
)

// The faults of this context. Those of package access are common to all contexts.
var (
	PolicyNotFound = fault.Code{Name: "policy_not_found", Kind: fault.NotFound}
	// Denied names the policy in its details policy_id and policy.
	Denied = fault.Code{Name: "policy_denied", Kind: fault.Forbidden}
	// TooMany is a policy beyond Max.
	TooMany = fault.Code{Name: "too_many_policies", Kind: fault.Conflict}
	// PoliciesInFile is a write while a file is the only source of policies.
	PoliciesInFile = fault.Code{Name: "policies_in_file", Kind: fault.Conflict}
	WindowNotFound = fault.Code{Name: "window_not_found", Kind: fault.NotFound}
	// WindowClosed refuses a request for a run that may not start now. It names the window in its details window_id and
	// window, and in opens when the run may start, if that is known.
	WindowClosed = fault.Code{Name: "window_closed", Kind: fault.Forbidden}
	// TooManyWindows is a window beyond MaxWindows.
	TooManyWindows = fault.Code{Name: "too_many_windows", Kind: fault.Conflict}
	// PoliciesChanged voids a unit that was evaluated by policies or windows that are no longer in force.
	PoliciesChanged = fault.Code{Name: "policies_changed", Kind: fault.Conflict}
	NotAllowed      = access.NotAllowed
	NameTaken       = access.NameTaken
	RevisionChanged = access.RevisionChanged
)
