package runs

import (
	"context"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/stream"
	"github.com/writ-automation/writ/modules/runs/internal/windows"
	"github.com/writ-automation/writ/modules/runs/internal/work"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/events"
)

// Times of the background work that are not settings: the pause before the first retention pass, which keeps a start
// quick, the intervals of the searches for unsettled parents and for free slots, and the limit of one pass.
const (
	firstPurge     = time.Minute
	parentsEvery   = time.Minute
	slotsEvery     = 5 * time.Second
	approvalsEvery = 5 * time.Second
	passTimeout    = 5 * time.Minute
)

// Background ends runs that lost their holder, deletes runs and events that are past their retention, opens and closes
// windows, and wakes live streams when another process reports.
type Background struct{ background.Group }

func newBackground(
	s *work.Sweeper, a *work.Held, r *work.Retention, f *work.Refresher, h *stream.Hub, p *Params, cfg Config,
) Background {
	g := background.Group{
		{Name: "stream wake-ups", Every: time.Second, Pass: func(ctx context.Context) error {
			h.Watch(ctx, p.Signals)
			return nil
		}},
		{Name: "lost runs", First: cfg.SweepEvery, Every: cfg.SweepEvery, Timeout: passTimeout,
			Pass: func(ctx context.Context) error {
				_, err := s.Leases(ctx)
				return err
			}},
		{Name: "lost parents", First: parentsEvery, Every: parentsEvery, Timeout: passTimeout,
			Pass: func(ctx context.Context) error {
				_, err := s.Parents(ctx)
				return err
			}},
		{Name: "free slots", First: slotsEvery, Every: slotsEvery, Timeout: passTimeout,
			Watch: func() (<-chan string, func()) { return p.Signals.Watch(events.TopicSlots) },
			Pass: func(ctx context.Context) error {
				_, err := s.Slots(ctx)
				return err
			}},
		{Name: "retention", First: firstPurge, Every: cfg.PurgeEvery, Timeout: passTimeout,
			Pass: func(ctx context.Context) error {
				n, err := r.Pass(ctx)
				if n > 0 {
					p.Log.InfoContext(ctx, "retention deleted runs or their events", "runs", n)
				}
				return err
			}},
	}
	if p.Materials != nil && !cfg.ReadOnly {
		g = append(g, f.Loop)
	}
	if cfg.ApprovalTTL > 0 {
		every := min(cfg.ApprovalTTL, approvalsEvery)
		g = append(g, &background.Loop{Name: "approvals", First: every, Every: every, Timeout: passTimeout,
			Pass: func(ctx context.Context) error {
				n, err := a.Pass(ctx)
				if n > 0 {
					p.Log.InfoContext(ctx, "runs were held for too long and are rejected", "runs", n)
				}
				return err
			}})
	}
	for _, l := range g {
		l.Log, l.Observer = p.Log, p.Observer
	}
	return Background{g}
}

// withWindows also opens and closes windows for the runs that wait. Without an evaluator there are none.
func (b Background) withWindows(w *windows.Worker, p *Params) Background {
	if p.Policies == nil {
		return b
	}
	b.Group = append(b.Group, &background.Loop{Name: "windows", Pass: w.Pass, Next: w.Pause, Timeout: passTimeout,
		Watch: func() (<-chan string, func()) { return p.Signals.Watch(events.TopicWindow) },
		Log:   p.Log, Observer: p.Observer})
	return b
}

// withFeed also reads the runs that change for the readers of lists.
func (b Background) withFeed(f *stream.Feed, p *Params) Background {
	b.Group = append(b.Group, &background.Loop{Name: "live feed", Every: time.Second, Log: p.Log, Observer: p.Observer,
		Pass: func(ctx context.Context) error { return f.Watch(ctx, p.Signals) }})
	return b
}
