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
	// PoliciesChanged voids a unit that was evaluated by policies that are no longer in force.
	PoliciesChanged = fault.Code{Name: "policies_changed", Kind: fault.Conflict}
	NotAllowed      = access.NotAllowed
	NameTaken       = access.NameTaken
	RevisionChanged = access.RevisionChanged
)
