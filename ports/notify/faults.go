package notify

import "github.com/writ-automation/writ/ports/fault"

// The faults of this context.
var (
	// TargetNotFound is the fault of a stored target that does not exist.
	TargetNotFound = fault.Code{Name: "notification_target_not_found", Kind: fault.NotFound}
	// Refused is the fault of a delivery that another try cannot make succeed, such as a forbidden address or a
	// transport that the server does not have.
	Refused = fault.Code{Name: "notification_refused", Kind: fault.Conflict}
)
