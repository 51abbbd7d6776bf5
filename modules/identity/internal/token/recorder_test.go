package token

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/identity"
)

type store struct {
	mu      sync.Mutex
	batches []map[string]time.Time
	err     error
}

func (s *store) TouchTokens(_ context.Context, m map[string]time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches = append(s.batches, m)
	return s.err
}

func (s *store) ConfirmAccount(context.Context, string, time.Time) error { return s.err }

func (s *store) written() []map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batches
}

type unit struct{}

func (unit) Do(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }

func TestBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		r := NewRecorder(s, unit{}, slog.New(slog.DiscardHandler))
		loop := r.Loop()
		loop.Start()
		for range 1000 {
			r.Used(identity.Token{ID: "tok_a"}, time.Now())
			r.Used(identity.Token{ID: "tok_b", LastUsedAt: time.Now().Add(-time.Second)}, time.Now())
		}
		r.Used(identity.Token{ID: "tok_c"}, time.Now())
		if len(s.written()) != 0 {
			t.Error("a use is written in its request")
		}
		time.Sleep(time.Minute)
		if got := s.written(); len(got) != 1 || len(got[0]) != 2 || got[0]["tok_a"].IsZero() || got[0]["tok_c"].IsZero() {
			t.Errorf("written: %v", got)
		}
		time.Sleep(time.Hour)
		if got := s.written(); len(got) != 1 {
			t.Errorf("an idle hour wrote %d batches", len(got)-1)
		}
		r.Used(identity.Token{ID: "tok_a"}, time.Now())
		stop(t, loop)
		if got := s.written(); len(got) != 2 || len(got[1]) != 1 {
			t.Errorf("stop leaves the last use out: %v", got)
		}
		stop(t, loop)
	})
}

func TestBoundedAndSurvivesErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{err: errors.New("gone")}
		r := NewRecorder(s, unit{}, slog.New(slog.DiscardHandler))
		loop := r.Loop()
		loop.Start()
		defer stop(t, loop)
		for i := range 20_000 {
			r.Used(identity.Token{ID: string(rune(i + 0x4e00))}, time.Now())
		}
		time.Sleep(time.Minute)
		got := s.written()
		if len(got) != 1 || len(got[0]) != 10_000 {
			t.Fatalf("%d batches", len(got))
		}
		r.Used(identity.Token{ID: "tok_later"}, time.Now())
		time.Sleep(time.Minute)
		if got := s.written(); len(got) != 2 || len(got[1]) != 1 {
			t.Errorf("after an error: %d batches", len(got))
		}
	})
}

func stop(t *testing.T, l *background.Loop) {
	if err := l.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
