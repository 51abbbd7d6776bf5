package execution

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/page"
)

// WorkerKind says how an executor reaches the runs.
type WorkerKind string

// The kinds of workers.
const (
	ServerWorker   WorkerKind = "server" // within a server
	DatabaseWorker WorkerKind = "worker" // a process of its own over the database
	RelayWorker    WorkerKind = "relay"  // over HTTP
)

// Worker is an executor as the fleet sees it.
type Worker struct {
	Name      string
	Kind      WorkerKind
	Queues    []string
	Executors int // runs at once
	Running   int // runs that it held when it reported last
	Version   string
	Labels    map[string]string
	SeenAt    time.Time
	Fresh     bool // it reported within WorkerTTL
}

// ReportEvery is how often an executor says that it is there, WorkerTTL how long that is believed, and WorkerMemory how
// long one that went away without a word is shown.
const (
	ReportEvery  = 10 * time.Second
	WorkerTTL    = 30 * time.Second
	WorkerMemory = 24 * time.Hour
)

// Fleet tells which executors there are.
type Fleet interface {
	// Workers lists executors by name and how many there are. Of their queues it names those that the caller of
	// ctx may read.
	Workers(ctx context.Context, w page.Window) ([]Worker, int, error)
}

// WorkerStore keeps what executors report. Its time is the store's own.
type WorkerStore interface {
	// ReportWorker stores what an executor says of itself, under its name.
	ReportWorker(ctx context.Context, w Worker) error
	// TouchWorker notes that a known worker was heard of, and how many runs it holds. An unknown one is no error.
	TouchWorker(ctx context.Context, name string, running int) error
	// RemoveWorker forgets an executor that ends in order. An unknown one is no error.
	RemoveWorker(ctx context.Context, name string) error
	// ForgetWorkers drops those that have not reported for longer than a time.
	ForgetWorkers(ctx context.Context, since time.Duration) error
	Workers(ctx context.Context, w page.Window) ([]Worker, int, error)
}
