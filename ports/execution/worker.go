package execution

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/page"
)

// WorkerKind is how an executor reaches the runs.
type WorkerKind string

// The kinds of workers.
const (
	ServerWorker   WorkerKind = "server" // within a server
	DatabaseWorker WorkerKind = "worker" // a process of its own over the database
	RelayWorker    WorkerKind = "relay"  // over HTTP
)

// Worker is an executor in the fleet.
type Worker struct {
	Name      string
	Kind      WorkerKind
	Queues    []string
	Executors int // runs at once
	Running   int // runs that it held at its last report
	Version   string
	Labels    map[string]string
	Isolation WorkerIsolation // what its runs get; an empty level is not known
	SeenAt    time.Time
	Fresh     bool // it reported within WorkerTTL
}

// ReportEvery is the interval of an executor's reports, WorkerTTL how long a report is fresh, and WorkerMemory how
// long an executor is listed that stopped reporting.
const (
	ReportEvery  = 10 * time.Second
	WorkerTTL    = 30 * time.Second
	WorkerMemory = 24 * time.Hour
)

// Fleet lists the executors.
type Fleet interface {
	// Workers returns executors by name and their total number. It includes only those of their queues that the caller
	// of ctx may read.
	Workers(ctx context.Context, w page.Window) ([]Worker, int, error)
}

// WorkerStore stores the reports of executors. Times come from the store's own clock.
type WorkerStore interface {
	// ReportWorker stores an executor's description of itself, under its name.
	ReportWorker(ctx context.Context, w Worker) error
	// TouchWorker records a sign of life of a known worker, and how many runs it holds. An unknown one is no error.
	TouchWorker(ctx context.Context, name string, running int) error
	// RemoveWorker deletes an executor that ends normally. An unknown one is no error.
	RemoveWorker(ctx context.Context, name string) error
	// ForgetWorkers deletes executors that have not reported for longer than since.
	ForgetWorkers(ctx context.Context, since time.Duration) error
	Workers(ctx context.Context, w page.Window) ([]Worker, int, error)
}
