package runs

import "context"

// Submitter accepts requests for runs.
type Submitter interface {
	// Submit validates the request and stores the run as pending, or as pending_approval if it is held. It checks in
	// this order: Invalid faults name the field; NotFound and UseRequired faults name the member whose object does
	// not exist or may not be read or used; Conflict faults of package secrets are for credentials that a run cannot
	// have together, that have no secret or that cannot be opened. A run has the credentials of its inventory in
	// addition to those of the request, each once. A run that is made from another one keeps that one's objects.
	// A run that a policy denies is Denied of package policy; the trail has an entry of it. replayed means that the
	// idempotency key was used before and the run is that of the first request. A key that was used with another body, or
	// whose run was deleted or may not be read, is KeyReused.
	Submit(ctx context.Context, s Submission) (run *Run, replayed bool, err error)
	// SubmitPipeline does the same for a pipeline; its first steps exist when it returns, unless it is held.
	SubmitPipeline(ctx context.Context, s PipelineSubmission) (run *Run, replayed bool, err error)
}

// Checker checks requests without making a run.
type Checker interface {
	// Check returns the fault that Submit would return to the caller of ctx, or nil if Submit would make a run.
	Check(ctx context.Context, s Submission) error
	// CheckPipeline does the same for a pipeline.
	CheckPipeline(ctx context.Context, s PipelineSubmission) error
}

// Controller acts on existing runs. Every method returns RunNotFound for an unknown run and for one that the caller
// may not read, and, except Preview, UseRequired if the caller may not use all objects that the run names.
type Controller interface {
	// Cancel ends a held or pending run at once and asks the holder of a running one to end it. It cancels the
	// children of a parent too. It may be repeated while a run is being cancelled. An ended run is RunNotCancelable.
	Cancel(ctx context.Context, id string) (*Run, error)
	// Retry makes a new split from the failed shards of a finished one. Any other run is RunNotRetryable.
	Retry(ctx context.Context, id string) (*Run, error)
	// RelaunchFailed makes a run over the hosts that failed or were unreachable in a finished ansible run. It returns
	// NoFailedHosts if there are none, and RunNotRelaunchable for another kind of run.
	RelaunchFailed(ctx context.Context, id string) (*Run, error)
	// Rerun makes a new request with the run's settings, which passes all checks again.
	Rerun(ctx context.Context, id string) (*Run, error)
	// SetQueue moves a pending run to another queue, which takes the right to use both. Policies and windows decide as for
	// a new request: what they deny is refused. A run that was approved, that a policy would hold there, that has a parent
	// or that is executed by others is RunNotMovable, and one that is not pending RunStateChanged. A revision of zero
	// matches any; another one is access.RevisionChanged.
	SetQueue(ctx context.Context, id, queue string, revision int64) (*Run, error)
	// Preview makes a dry run of what a held run would execute now, which the record of the held run names. It returns
	// the earlier one, and true, while that has not ended. Only administrators and the account that asked for the run
	// may call it: NotAllowed. A run that is not held is RunNotHeld. Policies hold and deny the dry run like any other.
	Preview(ctx context.Context, id string) (preview *Run, again bool, err error)
}

// Reconciliation asks for a run that repairs what dry runs found on a host. Then is called in the unit that stores the
// run, whose error undoes it.
type Reconciliation struct {
	Host     string
	SourceID string   // the target
	Findings []string // the ids of what it repairs, to which its approval is bound
	Then     func(ctx context.Context, r *Run) error
	// PlanDigest is that of the plan of the dry run, which the run applies instead of executing on the host alone. It is
	// empty for a dry run without a plan.
	PlanDigest string
}

// Reconciler makes runs from dry runs.
type Reconciler interface {
	// Reconcile makes a run with the settings of a dry run that executes on one host and is always held. It returns
	// RunNotFound for an unknown run and for one that the caller may not read, UseRequired if the caller may not use all
	// objects that it names, and the faults of Submitter.
	Reconcile(ctx context.Context, id string, r Reconciliation) (*Run, error)
}

// DecisionInput is what an approver says about a held run. Digest is that of what the approver saw, empty for whatever
// the run was held with. OverrideWindows lets the run start whatever windows say.
type DecisionInput struct {
	Reason, Digest  string
	OverrideWindows bool
}

// Approver decides held runs. A run that is not held is RunNotHeld, one that the caller may not read RunNotFound. A
// caller who may not decide gets NotAllowed, or DistinctApprover if it asked for the run itself.
type Approver interface {
	// Approve adds the consent of the caller. With the last one that is needed, the run is released. A second one of the
	// same account is AlreadyApproved. If what the run would execute has changed since it was held, earlier approvals are
	// void, and a decision without its present digest is ApprovalStale. Administrators override windows: of the run that
	// this releases, and of a pending one that waits for a window, about which nothing else is decided.
	Approve(ctx context.Context, id string, d DecisionInput) (*Run, error)
	// Reject ends the run.
	Reject(ctx context.Context, id string, d DecisionInput) (*Run, error)
}
