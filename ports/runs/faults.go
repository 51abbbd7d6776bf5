package runs

import (
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
)

// The faults of this context.
var (
	RunNotFound        = fault.Code{Name: "run_not_found", Kind: fault.NotFound}
	RunNotCancelable   = fault.Code{Name: "run_not_cancelable", Kind: fault.Conflict}
	RunNotHeld         = fault.Code{Name: "run_not_held", Kind: fault.Conflict}
	RunNotRetryable    = fault.Code{Name: "run_not_retryable", Kind: fault.Conflict}
	RunNotRelaunchable = fault.Code{Name: "run_not_relaunchable", Kind: fault.Conflict}
	NoFailedHosts      = fault.Code{Name: "no_failed_hosts", Kind: fault.Conflict}
	RunStateChanged    = fault.Code{Name: "run_state_changed", Kind: fault.Conflict}
	LeaseLost          = fault.Code{Name: "lease_lost", Kind: fault.Conflict}
	SequenceGap        = fault.Code{Name: "sequence_gap", Kind: fault.Conflict}
	KeyReused          = fault.Code{Name: "idempotency_key_reused", Kind: fault.Conflict}
	UseRequired        = access.UseRequired
	QueueNotFound      = fault.Code{Name: "queue_not_found", Kind: fault.NotFound}
	NoBaseline         = fault.Code{Name: "no_baseline", Kind: fault.NotFound}
	BadTicket          = fault.Code{Name: "bad_ticket", Kind: fault.Unauthenticated}
	UnknownTool        = fault.Code{Name: "unknown_tool", Kind: fault.Invalid}
	VarsReserved       = fault.Code{Name: "vars_reserved", Kind: fault.Invalid}
)
