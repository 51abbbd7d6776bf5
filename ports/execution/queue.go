package execution

import (
	"context"

	"github.com/writ-automation/writ/ports/page"
)

// Queue is a queue of runs that something names: the default one, those with a limit, a grant, runs or executors.
type Queue struct {
	Name string
	// MaxConcurrent limits how many runs of the queue have a slot at a time, 0 for any number; see Limits of package
	// runs.
	MaxConcurrent    int
	Pending, Running int64 // runs without a parent
	Workers          int   // executors that take its runs and reported within WorkerTTL
}

// Queues lists and limits queues.
type Queues interface {
	// Queue returns one queue. Errors: QueueNotFound of package runs for one that nothing names or that the
	// caller may not read.
	Queue(ctx context.Context, name string) (Queue, error)
	// Queues returns those that the caller may read, by name, and their total number.
	Queues(ctx context.Context, w page.Window) ([]Queue, int, error)
	// LimitQueue sets how many runs of a queue have a slot at a time. Errors: Invalid faults naming name and
	// max_concurrent.
	LimitQueue(ctx context.Context, name string, maxConcurrent int) (Queue, error)
}

// QueueStore stores the limits of queues. Writes join the unit of ctx.
type QueueStore interface {
	// PutQueueLimit stores the limit of a queue; 0 deletes it.
	PutQueueLimit(ctx context.Context, name string, maxConcurrent int) error
	// QueueLimits returns all limits by the names of their queues.
	QueueLimits(ctx context.Context) (map[string]int, error)
}
