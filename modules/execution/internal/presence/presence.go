// Package presence tells the fleet that an executor is there.
package presence

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/tx"
)

// reportTimeout bounds one report.
const reportTimeout = 5 * time.Second

// Reporter reports one executor between Start and Stop. It is started once.
type Reporter struct {
	store execution.WorkerStore
	unit  tx.Unit
	log   *slog.Logger
	self  func() execution.Worker

	mu   sync.Mutex
	stop context.CancelFunc
	done sync.WaitGroup
}

// New makes a reporter; self tells what the executor is like now.
func New(store execution.WorkerStore, unit tx.Unit, log *slog.Logger, self func() execution.Worker) *Reporter {
	return &Reporter{store: store, unit: unit, log: log, self: self}
}

// Start reports now and then at the interval, until Stop.
func (r *Reporter) Start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	r.done.Go(func() { r.loop(ctx) })
}

// Stop takes the executor off the list and returns when nothing runs any more.
func (r *Reporter) Stop() {
	r.mu.Lock()
	stop := r.stop
	r.stop = nil
	r.mu.Unlock()
	if stop == nil {
		return
	}
	stop()
	r.done.Wait()
	r.write(context.Background(), "leave the list of workers", func(ctx context.Context) error { return r.store.RemoveWorker(ctx, r.self().Name) })
}

func (r *Reporter) loop(ctx context.Context) {
	t := time.NewTicker(execution.ReportEvery)
	defer t.Stop()
	for {
		r.write(ctx, "report this worker", func(ctx context.Context) error {
			if err := r.store.ReportWorker(ctx, r.self()); err != nil {
				return err
			}
			return r.store.ForgetWorkers(ctx, execution.WorkerMemory)
		})
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// write logs what fails: the next report tells the same.
func (r *Reporter) write(ctx context.Context, what string, fn func(context.Context) error) {
	bound, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	if err := r.unit.Do(bound, fn); err != nil && ctx.Err() == nil {
		r.log.WarnContext(ctx, what, "error", err)
	}
}
