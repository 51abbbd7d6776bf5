package system

import (
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
)

// The faults of this context. Those of package access are common to all contexts.
var (
	// DeadLetterNotFound is the fault of a dead letter that does not exist.
	DeadLetterNotFound = fault.Code{Name: "dead_letter_not_found", Kind: fault.NotFound}
	// RevisionChanged is the fault of a change for another state of the dead letter.
	RevisionChanged = access.RevisionChanged
)
