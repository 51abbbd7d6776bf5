package cleanup_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/modules/identity/internal/cleanup"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stores note what they are asked to drop.
type stores struct {
	identity.TokenStore
	identity.HandshakeStore
	identity.RightsStore

	mu                          sync.Mutex
	sessions, begun             int           // how many are left
	slow                        time.Duration // how long it takes to purge handshakes
	before                      time.Time
	purges, handshakes, forgets int
	remembered                  int
	err                         error
	hangs                       bool
}

func (s *stores) Now() time.Time { return time.Now() }

func (s *stores) Do(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }

func (s *stores) PurgeTokens(ctx context.Context, t time.Time, limit int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hangs {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	s.before = t
	s.purges++
	n := min(limit, s.sessions)
	s.sessions -= n
	return n, s.err
}

func (s *stores) PurgeHandshakes(ctx context.Context, limit int) (int, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(s.slow):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handshakes++
	n := min(limit, s.begun)
	s.begun -= n
	return n, s.err
}

func (s *stores) ForgetChanges(_ context.Context, remembered int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remembered = remembered
	s.forgets++
	return s.err
}

// set changes the stores between two passes.
func (s *stores) set(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

// asked returns the time before which sessions are dropped, and how many changes are kept.
func (s *stores) asked() (time.Time, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.before, s.remembered
}

func (s *stores) counts() [3]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return [3]int{s.purges, s.handshakes, s.forgets}
}

func TestPasses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stores{sessions: 2500}
		u := cleanup.New(s, s, s, s, s).Loop()
		u.Log = slog.New(slog.DiscardHandler)
		u.Start()
		u.Start() // again is nothing
		time.Sleep(59 * time.Second)
		if c := s.counts(); c != [3]int{} {
			t.Errorf("a start is slowed down: %v", c)
		}
		time.Sleep(2 * time.Second)
		before, remembered := s.asked()
		if c := s.counts(); c != [3]int{3, 1, 1} || remembered != 10_000 {
			t.Errorf("the first pass: %v, keeping %d", c, remembered)
		}
		if age := time.Since(before); age < 24*time.Hour || age > 24*time.Hour+time.Minute {
			t.Errorf("sessions that ended %v ago are dropped", age)
		}
		s.set(func() { s.sessions, s.begun = 1_000_000, 50_500 })
		time.Sleep(time.Minute)
		if c := s.counts(); c != [3]int{13, 52, 2} { // the first one, fifty full ones and the rest
			t.Errorf("the second pass: %v", c)
		}
		stop(t, u)
		stop(t, u)
		time.Sleep(time.Hour)
		if c := s.counts(); c != [3]int{13, 52, 2} {
			t.Errorf("after the end: %v", c)
		}
	})
}

// TestAFlood has no end: a pass has one, and the next one goes on.
func TestAFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := &stores{begun: 1_000_000, slow: time.Second}
		u := cleanup.New(s, s, s, s, s).Loop()
		u.Log = slog.New(slog.NewTextHandler(&log, nil))
		u.Start()
		time.Sleep(5*time.Minute + 30*time.Second +
			time.Millisecond) // two passes of a minute with their pauses, and half of one
		stop(t, u)
		if c := s.counts(); c != [3]int{3, 150, 3} {
			t.Errorf("three passes: %v", c)
		}
		if log.Len() > 0 {
			t.Errorf("much to do is no failure: %s", log.String())
		}
	})
}

func TestFailuresAndHanging(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := &stores{err: errors.New("the disk is gone")}
		u := cleanup.New(s, s, s, s, s).Loop()
		u.Log = slog.New(slog.NewTextHandler(&log, nil))
		u.Start()
		time.Sleep(2*time.Minute + time.Second)
		stop(t, u)
		if c := s.counts(); c != [3]int{2, 2, 2} {
			t.Errorf("one that fails keeps others from being done: %v", c)
		}
		if n := strings.Count(log.String(), "trying again"); n != 2 {
			t.Errorf("%d lines", n)
		}
		s.set(func() { s.hangs = true })
		u.Start()
		time.Sleep(61 * time.Second)
		start := time.Now()
		stop(t, u)
		if d := time.Since(start); d != 0 {
			t.Errorf("the end waits %v for a pass", d)
		}
	})
}

func stop(t *testing.T, l *background.Loop) {
	if err := l.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
