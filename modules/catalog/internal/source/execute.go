package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	// executions is how many refreshes one executor does at once, beside its runs: a run may wait for a refresh.
	executions = 2
	// lookEvery is how often an executor looks for refreshes without a signal.
	lookEvery = 5 * time.Second
)

// ExecutorParams are the dependencies of an Executor.
type ExecutorParams struct {
	Refreshes catalog.Refreshes
	Collector catalog.Collector
	Signals   events.Signals // nil: refreshes are found by polling
	Log       *slog.Logger
	Worker    string
	Queues    []string
	TempDir   string // the parent of checkouts
	// Every is the pause between two searches that found nothing, if Refreshes wait themselves; 0 is the default.
	Every time.Duration
}

// Executor does the refreshes that run programs.
type Executor struct{ ExecutorParams }

// NewExecutor returns an Executor.
func NewExecutor(p ExecutorParams) *Executor {
	if p.Every == 0 {
		p.Every = lookEvery
	}
	return &Executor{p}
}

// Loops returns the loops that do refreshes. A stop ends a refresh, which another executor may then take.
func (x *Executor) Loops() background.Group {
	var out background.Group
	for range executions {
		l := &background.Loop{Name: "programs of sources", Every: x.Every, Pass: x.pass, Log: x.Log}
		if x.Signals != nil {
			l.Watch = func() (<-chan string, func()) { return x.Signals.Watch(events.TopicRefresh) }
		}
		out = append(out, l)
	}
	return out
}

// pass does refreshes until none waits.
func (x *Executor) pass(ctx context.Context) error {
	for ctx.Err() == nil {
		r, ok, err := x.Refreshes.Claim(ctx, x.Worker, x.Queues)
		if err != nil || !ok {
			return err
		}
		if err := x.do(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// do does one refresh and reports its result.
func (x *Executor) do(ctx context.Context, r catalog.ClaimedRefresh) error {
	x.Log.InfoContext(ctx, "executing the program of a source", "source", r.SourceID)
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := x.renew(r.RefreshLease, cancel)
	bound, end := context.WithTimeout(work, collectTime)
	result, err := x.collect(bound, r)
	if err != nil {
		result = catalog.RefreshResult{Failure: reason(bound, x.Log, r.SourceID, err)}
	}
	end()
	stop()
	lost := context.Cause(work)
	late, release := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer release()
	switch {
	case ctx.Err() != nil:
		return x.Refreshes.Release(late, r.RefreshLease)
	case lost != nil:
		err = lost
	default:
		err = x.Refreshes.Report(late, r.RefreshLease, result)
	}
	if runs.LeaseLost.Is(err) {
		x.Log.WarnContext(ctx, "the refresh of a source was lost", "source", r.SourceID)
		return nil
	}
	return err
}

func (x *Executor) collect(ctx context.Context, r catalog.ClaimedRefresh) (got catalog.RefreshResult, err error) {
	dir, err := temporary(x.TempDir)
	if err != nil {
		return got, err
	}
	defer remove(ctx, x.Log, dir)
	c, done, err := x.Refreshes.Prepare(ctx, r, dir)
	defer done()
	if err != nil {
		return got, err
	}
	got.Content, got.Format, err = x.Collector.Collect(ctx, c)
	return got, err
}

// renew renews a lease until the returned function is called. It cancels the refresh if the lease is lost.
func (x *Executor) renew(l catalog.RefreshLease, lose context.CancelCauseFunc) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var beats sync.WaitGroup
	beats.Go(func() {
		for background.Wait(ctx, runs.BeatEvery) {
			bound, end := context.WithTimeout(ctx, runs.BeatEvery)
			err := x.Refreshes.Renew(bound, l)
			end()
			switch {
			case runs.LeaseLost.Is(err):
				lose(err)
				return
			case err != nil && ctx.Err() == nil:
				x.Log.WarnContext(ctx, "renew the lease of a refresh", "source", l.SourceID, "error", err)
			}
		}
	})
	return func() {
		cancel()
		beats.Wait()
	}
}

// temporary makes a directory for a checkout, which programs of other accounts may pass.
func temporary(parent string) (string, error) {
	if parent != "" {
		if err := os.MkdirAll(parent, 0o700); err != nil {
			return "", fmt.Errorf("make the directory of work trees: %w", err)
		}
	}
	dir, err := os.MkdirTemp(parent, "source-")
	if err == nil {
		err = os.Chmod(dir, 0o711) //nolint:gosec // passed and not read
	}
	if err != nil {
		return "", fmt.Errorf("make a directory for a work tree: %w", err)
	}
	return dir, nil
}

func remove(ctx context.Context, log *slog.Logger, dir string) {
	if err := os.RemoveAll(dir); err != nil {
		log.WarnContext(ctx, "the work tree of a refresh was not removed", "err", err)
	}
}

// Work hands the refreshes of the database to executors.
type Work struct {
	r     *Refresher
	queue catalog.RefreshQueue
}

var _ catalog.Refreshes = (*Work)(nil)

// NewWork returns a Work.
func NewWork(r *Refresher, q catalog.RefreshQueue) *Work { return &Work{r, q} }

// Claim takes a refresh of this database.
func (w *Work) Claim(
	ctx context.Context, worker string, queues []string,
) (c catalog.ClaimedRefresh, ok bool, err error) {
	err = w.r.Unit.Do(ctx, func(ctx context.Context) error {
		c, ok, err = w.queue.ClaimRefresh(ctx, catalog.RefreshClaim{Worker: worker, Queues: queues, TTL: runs.LeaseTTL})
		return err
	})
	return c, ok, err
}

func (w *Work) Prepare(
	ctx context.Context, c catalog.ClaimedRefresh, dir string,
) (catalog.Collection, func(), error) {
	src, err := w.r.Sources.SourceByID(ctx, c.SourceID)
	if err == nil && (src.Revision != c.Revision || !src.Kind.Executed()) {
		err = errChanged()
	}
	if err != nil {
		return catalog.Collection{}, func() {}, err
	}
	return w.r.prepare(ctx, src, dir)
}

func (w *Work) Checkout(ctx context.Context, l catalog.RefreshLease, dir string) error {
	src, err := w.r.Sources.SourceByID(ctx, l.SourceID)
	if err != nil {
		return err
	}
	return w.r.tree(ctx, src.ProjectID, dir)
}

func (w *Work) Renew(ctx context.Context, l catalog.RefreshLease) error {
	return w.r.Unit.Do(ctx, func(ctx context.Context) error { return w.queue.RenewRefresh(ctx, l, runs.LeaseTTL) })
}

func (w *Work) Report(ctx context.Context, l catalog.RefreshLease, r catalog.RefreshResult) error {
	return w.changed(ctx, l, func(ctx context.Context) error { return w.queue.ReportRefresh(ctx, l, r) })
}

func (w *Work) Release(ctx context.Context, l catalog.RefreshLease) error {
	return w.changed(ctx, l, func(ctx context.Context) error { return w.queue.ReleaseRefresh(ctx, l) })
}

// changed changes a refresh and wakes those who wait for it.
func (w *Work) changed(ctx context.Context, l catalog.RefreshLease, change func(ctx context.Context) error) error {
	return w.r.Unit.Do(ctx, func(ctx context.Context) error {
		return errors.Join(change(ctx), w.r.signal(ctx, l.SourceID))
	})
}
