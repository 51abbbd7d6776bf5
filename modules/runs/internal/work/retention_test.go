package work

import (
	"context"
	"testing"
	"time"
)

// fakePurger counts down the rows that are due.
type fakePurger struct {
	runs, events, keys int
	calls              int
	cut                time.Time
}

func (s *fakePurger) Do(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }
func (s *fakePurger) Now() time.Time {
	return time.Unix(1_000_000, 0).UTC()
}

func (s *fakePurger) PurgeRuns(_ context.Context, t time.Time, limit int) (int, error) {
	s.calls++
	s.cut = t
	n := min(s.runs, limit)
	s.runs -= n
	return n, nil
}

func (s *fakePurger) PurgeEvents(_ context.Context, _ time.Time, limit int) (int, error) {
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
}

func TestRetentionOfZeroKeepsEverything(t *testing.T) {
	t.Parallel()
	s := &fakePurger{runs: 5, events: 5}
	if n, err := NewRetention(s, s, s, 0, 0).Pass(t.Context()); err != nil || n != 0 || s.runs != 5 || s.keys != 1 {
		t.Errorf("%d dropped, %v", n, err)
	}
}
