package runs

import (
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
)

// The faults of this context.
var (
	RunNotFound      = fault.Code{Name: "run_not_found", Kind: fault.NotFound}
	RunNotCancelable = fault.Code{Name: "run_not_cancelable", Kind: fault.Conflict}
	RunNotHeld       = fault.Code{Name: "run_not_held", Kind: fault.Conflict}
	// AlreadyApproved is a second approval of the same account, DistinctApprover a decision of the one that asked for the
	// run.
	AlreadyApproved = fault.Code{Name: "already_approved", Kind: fault.Conflict}
	// ApprovalStale is a decision about a run of which something has changed, and the end of an approved run that could
	// not have what was approved.
	ApprovalStale = fault.Code{Name: "approval_stale", Kind: fault.Conflict}
	// RunRefreshing is a decision about a run before the sources of its inventory are refreshed.
	RunRefreshing      = fault.Code{Name: "run_refreshing", Kind: fault.Conflict}
	DistinctApprover   = fault.Code{Name: "distinct_approver", Kind: fault.Forbidden}
	RunNotRetryable    = fault.Code{Name: "run_not_retryable", Kind: fault.Conflict}
	RunNotRelaunchable = fault.Code{Name: "run_not_relaunchable", Kind: fault.Conflict}
	NoFailedHosts      = fault.Code{Name: "no_failed_hosts", Kind: fault.Conflict}
	RunNotMovable      = fault.Code{Name: "run_not_movable", Kind: fault.Conflict}
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
