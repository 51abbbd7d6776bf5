package execution

import "github.com/writ-automation/writ/ports/fault"

// The faults of this context.
var (
	// QueueDenied is the fault of a worker that requests runs of a queue which this server does not open to relay
	// workers.
	QueueDenied = fault.Code{Name: "queue_denied", Kind: fault.Forbidden}
	// RelayDisabled is the fault of every relay call on an install without a worker token.
	RelayDisabled = fault.Code{Name: "relay_disabled", Kind: fault.NotFound}
	// BadWorkerToken is the fault of a relay call without a worker token.
	BadWorkerToken = fault.Code{Name: "bad_worker_token", Kind: fault.Unauthenticated}
	// ProfileRefused is the fault of a run whose isolation profile its executor does not have, allow or give.
	ProfileRefused = fault.Code{Name: "profile_refused", Kind: fault.Conflict}
	// WorkerNameDenied is the fault of a claim under a name that belongs to another token.
	WorkerNameDenied = fault.Code{Name: "worker_name_denied", Kind: fault.Forbidden}
	// WorkerTokenNotFound is the fault of an unknown token of a worker.
	WorkerTokenNotFound = fault.Code{Name: "worker_token_not_found", Kind: fault.NotFound}
)
