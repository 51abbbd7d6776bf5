package runs

import "context"

// Submitter takes requests for runs.
type Submitter interface {
	// Submit validates the request and stores the run as pending, or as pending_approval where something holds
	// it. It returns Invalid faults that name the field, and then NotFound and UseRequired faults that name the
	// member whose object does not exist or may not be read or used; last come the Conflict faults of package secrets
	// for credentials that a run cannot have together, that hold no secret or that cannot be opened. A run has the
	// credentials of its inventory beside those that the request names, each once. A run made of another one keeps
	// that one's objects. replayed says that an idempotency key was seen before and the run is the first request's; a
	// key seen with another body, or whose run is gone or may not be read, is KeyReused.
	Submit(ctx context.Context, s Submission) (run *Run, replayed bool, err error)
	// SubmitPipeline does the same for a pipeline; its first steps exist when it returns, unless it is held.
	SubmitPipeline(ctx context.Context, s PipelineSubmission) (run *Run, replayed bool, err error)
}

// Checker judges requests without making a run.
type Checker interface {
	// Check returns the fault that Submit would return to the caller of ctx, nil where it would make a run.
	Check(ctx context.Context, s Submission) error
	// CheckPipeline does the same for a pipeline.
	CheckPipeline(ctx context.Context, s PipelineSubmission) error
}

// Controller acts on runs that exist. Every method returns RunNotFound for an unknown run and for one that the caller
// may not read, and UseRequired where it may not use all that the run names.
type Controller interface {
	// Cancel ends a held or pending run at once and asks the holder of a running one to end it; a parent's
	// children are cancelled with it. It is idempotent while a run is being cancelled; an ended run is
	// RunNotCancelable.
	Cancel(ctx context.Context, id string) (*Run, error)
	// Retry makes a new split of the failed shards of a finished one; any other run is RunNotRetryable.
	Retry(ctx context.Context, id string) (*Run, error)
	// RelaunchFailed makes a run of the hosts that a finished ansible run left failed or unreachable. It is
	// NoFailedHosts where there are none and RunNotRelaunchable for another kind of run.
	RelaunchFailed(ctx context.Context, id string) (*Run, error)
	// Rerun makes a fresh request with the run's settings; it passes every check anew.
	Rerun(ctx context.Context, id string) (*Run, error)
}

// Approver decides held runs. A run that is not held is RunNotHeld, one that the caller may not read RunNotFound.
type Approver interface {
	Approve(ctx context.Context, id, reason string) (*Run, error)
	Reject(ctx context.Context, id, reason string) (*Run, error)
}
