package explain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// Workers lists executors.
type Workers interface {
	Workers(ctx context.Context, w page.Window) ([]execution.Worker, int, error)
}

// maxWorkers is how many executors are looked at for one explanation.
const maxWorkers = 10_000

// served describes the executors of a queue: how many runs they take at once, and how many they had at their last
// report. lost is the last one that does not report any more.
type served struct {
	executors, running int
	lost               execution.Worker
}

// pending explains a run that waits for a window, for slots or for an executor.
func (x *Explainer) pending(ctx context.Context, r *runs.Run) ([]runs.Reason, error) {
	if out, err := x.gated(ctx, r); err != nil || len(out) > 0 {
		return out, err
	}
	queue := r.Spec.Queue
	counts, err := x.Runs.Counts(ctx)
	if err != nil {
		return nil, err
	}
	var waits, runsNow int64
	for _, c := range counts {
		if c.Queue == queue && c.Status == runs.Pending {
			waits += c.Runs
		}
		if c.Queue == queue && c.Status == runs.Running {
			runsNow += c.Runs
		}
	}
	out := runs.Reason{Code: "waiting_for_executor", Object: queue, Since: r.QueuedAt,
		Text: fmt.Sprintf("in the queue %q %d wait and %d run", queue, waits, runsNow),
		Next: "an executor of the queue takes the run"}
	if x.Workers == nil {
		return []runs.Reason{out}, nil
	}
	s, err := x.served(ctx, queue)
	if err != nil {
		return nil, err
	}
	switch {
	case s.executors == 0:
		out.Code, out.Text = "no_executor", fmt.Sprintf("no executor serves the queue %q", queue)
		if s.lost.Name != "" {
			out.Text += fmt.Sprintf("; %s did, and has not reported since %s",
				execution.ShownName(s.lost.Name), s.lost.SeenAt.UTC().Format(time.RFC3339))
		}
		out.Next = "start a worker that serves the queue"
	case s.running >= s.executors:
		out.Code = "executors_busy"
		out.Text = fmt.Sprintf("all %d executors that serve the queue %q are busy; in the queue %d wait and %d run",
			s.executors, queue, waits, runsNow)
		out.Next = "one of them ends its run"
	}
	return []runs.Reason{out}, nil
}

func (x *Explainer) served(ctx context.Context, queue string) (s served, err error) {
	for offset := 0; offset < maxWorkers; {
		list, total, err := x.Workers.Workers(ctx, page.Window{Offset: offset})
		if err != nil {
			return s, fmt.Errorf("list executors: %w", err)
		}
		for _, w := range list {
			switch {
			case !slices.Contains(w.Queues, queue):
			case w.Fresh:
				s.executors, s.running = s.executors+w.Executors, s.running+w.Running
			case w.SeenAt.After(s.lost.SeenAt):
				s.lost = w
			}
		}
		if offset += len(list); len(list) == 0 || offset >= total {
			break
		}
	}
	return s, nil
}
