package execution

import "github.com/writ-automation/writ/ports/fault"

// The faults of this context.
var (
	// QueueDenied is the fault of a worker that requests runs of a queue which this server does not open to relay
	// workers.
	QueueDenied = fault.Code{Name: "queue_denied", Kind: fault.Forbidden}
	// RelayDisabled is the fault of every relay call on a server without a worker token.
	RelayDisabled = fault.Code{Name: "relay_disabled", Kind: fault.NotFound}
	// BadWorkerToken is the fault of a relay call without the worker token.
	BadWorkerToken = fault.Code{Name: "bad_worker_token", Kind: fault.Unauthenticated}
)
