package compose

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/execution"
	portexecution "github.com/writ-automation/writ/ports/execution"
)

// Worker is a worker process, assembled. It is started once.
type Worker struct{ *process }

// NewWorker locks the data directory and assembles a worker over the database, which it opens, or over a relay; nothing
// runs yet. The errors name the flag at fault, if any. When it has reached the runs for the first time, it logs that it
// is ready.
func NewWorker(s WorkerSettings) (*Worker, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	root, err := s.dataDir()
	if err != nil {
		return nil, err
	}
	if !s.over() {
		if err := exists(s.DB); err != nil {
			return nil, err
		}
	}
	p, err := assemble(&s.Executor, root, func(dir *dataDir, _ failure) (fx.Option, error) { return s.options(dir) })
	if err != nil {
		return nil, err
	}
	p.dir.keep()
	return &Worker{process: p}, nil
}

// options lists the parts of the worker.
func (s *WorkerSettings) options(dir *dataDir) (fx.Option, error) {
	if s.over() {
		return relayOptions(s, dir)
	}
	return databaseOptions(s, dir)
}

// ready describes the worker in one line that scripts can wait for.
func ready(ctx context.Context, log *slog.Logger, c *execution.Config) {
	log.InfoContext(ctx, "ready", "name", portexecution.ShownName(c.Worker), "kind", string(c.Kind), "queues",
		queuesOf(*c), "executors", c.Executors)
}
