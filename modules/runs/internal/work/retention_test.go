package work

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/tx"
)

// fakePurger counts down the rows that are due.
type fakePurger struct {
	runs, events, keys int
	calls              int
	cut                time.Time
	shared             int // batches that may share their commit with other units
}

func (s *fakePurger) Do(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }
func (s *fakePurger) Now() time.Time {
	return time.Unix(1_000_000, 0).UTC()
}

func (s *fakePurger) batch(ctx context.Context) {
	if !tx.IsAlone(ctx) {
		s.shared++
	}
}

func (s *fakePurger) PurgeRuns(ctx context.Context, t time.Time, limit int) (int, error) {
	s.batch(ctx)
	s.calls++
	s.cut = t
	n := min(s.runs, limit)
	s.runs -= n
	return n, nil
}

func (s *fakePurger) PurgeEvents(ctx context.Context, _ time.Time, limit int) (int, error) {
	s.batch(ctx)
	n := min(s.events, limit)
	s.events -= n
	return n, nil
}

func (s *fakePurger) PurgeKeys(context.Context, time.Time) error { s.keys++; return nil }

func TestRetentionGoesInBatches(t *testing.T) {
	t.Parallel()
	s := &fakePurger{runs: 250, events: 7}
	n, err := NewRetention(s, s, s, time.Hour, time.Minute).Pass(t.Context())
	if err != nil || n != 257 || s.calls != 3 || s.keys != 1 {
		t.Errorf("%d dropped in %d batches, keys %d, %v", n, s.calls, s.keys, err)
	}
	if !s.cut.Equal(s.Now().Add(-time.Hour)) {
		t.Errorf("cut at %v", s.cut)
	}
	if s.shared > 0 {
		t.Errorf("%d batches make others wait for their commit", s.shared)
	}
}

func TestRetentionOfZeroKeepsEverything(t *testing.T) {
	t.Parallel()
	s := &fakePurger{runs: 5, events: 5}
	if n, err := NewRetention(s, s, s, 0, 0).Pass(t.Context()); err != nil || n != 0 || s.runs != 5 || s.keys != 1 {
		t.Errorf("%d dropped, %v", n, err)
	}
}
