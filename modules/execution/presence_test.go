package execution

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
)

// store records reports and removals.
type store struct {
	mu      sync.Mutex
	reports []execution.Worker
	removed []string
	err     error
}

func (s *store) ReportWorker(_ context.Context, w execution.Worker) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports = append(s.reports, w)
	return s.err
}

func (s *store) RemoveWorker(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed = append(s.removed, name)
	return s.err
}
func (s *store) TouchWorker(context.Context, string, int) error     { return s.err }
func (s *store) ForgetWorkers(context.Context, time.Duration) error { return s.err }
func (s *store) Workers(context.Context, page.Window) ([]execution.Worker, int, error) {
	return nil, 0, nil
}

type unit struct{}

func (unit) Do(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }

// TestReports checks that a worker is reported at once and then every ten seconds, also after a failed report, and
// removed at the end.
func TestReports(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"stored": nil, "failing": errors.New("the disk is gone")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &store{err: err}
				running := 0
				r := newReports(s, unit{}, slog.New(slog.DiscardHandler), func() execution.Worker {
					running++
					return execution.Worker{Name: "w", Running: running}
				})
				r.Start()
				r.Start()
				synctest.Wait()
				time.Sleep(5*execution.ReportEvery + time.Second)
				synctest.Wait()
				for range 2 {
					if err := r.Stop(t.Context()); err != nil {
						t.Error(err)
					}
				}
				if len(s.reports) != 6 || s.reports[5].Running != 6 || len(s.removed) != 1 || s.removed[0] != "w" {
					t.Errorf("%d reports, removed %v", len(s.reports), s.removed)
				}
			})
		})
	}
}

// TestNeverStarted checks that a loop which never ran reports and removes nothing.
func TestNeverStarted(t *testing.T) {
	t.Parallel()
	s := &store{}
	r := newReports(s, unit{}, slog.New(slog.DiscardHandler), func() execution.Worker { return execution.Worker{} })
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if len(s.reports)+len(s.removed) != 0 {
		t.Errorf("%v %v", s.reports, s.removed)
	}
}
