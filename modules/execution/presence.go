package execution

import (
	"context"
	"log/slog"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/tx"
)

// reportTimeout bounds one report to the fleet.
const reportTimeout = 5 * time.Second

// newReports returns the loop that reports an executor to the fleet; self returns its current state. Stopping the loop
// removes the executor from the list.
func newReports(
	store execution.WorkerStore, unit tx.Unit, log *slog.Logger, self func() execution.Worker,
) *background.Loop {
	write := func(ctx context.Context, fn func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, reportTimeout)
		defer cancel()
		return unit.Do(ctx, fn)
	}
	return &background.Loop{
		Name: "worker reports", Every: execution.ReportEvery, Log: log,
		Pass: func(ctx context.Context) error {
			return write(ctx, func(ctx context.Context) error {
				if err := store.ReportWorker(ctx, self()); err != nil {
					return err
				}
				return store.ForgetWorkers(ctx, execution.WorkerMemory)
			})
		},
		Last: func() {
			err := write(context.Background(), func(ctx context.Context) error { return store.RemoveWorker(ctx, self().Name) })
			if err != nil {
				log.Warn("the worker did not leave the list of workers", "err", err)
			}
		},
	}
}
