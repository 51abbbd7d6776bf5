package lease_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/modules/secrets/internal/lease"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errEngine = errors.New("the engine is sealed")

func never(t *testing.T) func(string, error) {
	return func(string, error) { t.Error("what came in time was called late") }
}

func TestDoReturnsWhatTheCallReturns(t *testing.T) {
	t.Parallel()
	c := lease.NewCalls()
	got, err := lease.Do(t.Context(), c, "e", time.Minute, func(context.Context) (string, error) {
		return "v", errEngine
	}, never(t))
	if got != "v" || !errors.Is(err, errEngine) {
		t.Errorf("got %q, %v", got, err)
	}
	if err := c.Wait(t.Context()); err != nil {
		t.Errorf("something is under way: %v", err)
	}
}

func TestDoOfAPanic(t *testing.T) {
	t.Parallel()
	_, err := lease.Do(t.Context(), lease.NewCalls(), "e", time.Minute, func(context.Context) (string, error) {
		panic("canary")
	}, never(t))
	if err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("error %v", err)
	}
}

func TestDoGivesUpAndHearsOfItLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, begin := lease.NewCalls(), time.Now()
		release, late := make(chan struct{}), make(chan string, 1)
		_, err := lease.Do(t.Context(), c, "e", time.Minute, func(context.Context) (string, error) {
			<-release // it ignores its context
			return "minted", nil
		}, func(v string, _ error) { late <- v })
		if took := time.Since(begin); !errors.Is(err, lease.ErrSilent) || took < time.Minute ||
			took > time.Minute+5*time.Second {
			t.Errorf("error %v after %s", err, took)
		}
		bound, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Wait(bound); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the call counts as ended: %v", err)
		}
		close(release)
		if got := <-late; got != "minted" {
			t.Errorf("late heard %q", got)
		}
		if err := c.Wait(t.Context()); err != nil {
			t.Errorf("the call did not end: %v", err)
		}
	})
}

func TestDoTakesWhatComesInTheGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got, err := lease.Do(t.Context(), lease.NewCalls(), "e", time.Minute, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			return "minted", ctx.Err()
		}, never(t))
		if got != "minted" || !errors.Is(err, lease.ErrSilent) {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestDoOfACallerThatLeft(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := lease.Do(ctx, lease.NewCalls(), "e", time.Minute, func(context.Context) (string, error) {
		return "", nil
	}, never(t))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestDoBoundsTheCallsOfOneEngine lets one engine hang with all of its calls: the calls of another one still succeed.
func TestDoBoundsTheCallsOfOneEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := lease.NewCalls()
		var under, most atomic.Int64
		call := func(ctx context.Context) (string, error) {
			n := under.Add(1)
			defer under.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Second)
			return "", nil
		}
		ended := make(chan error, 40)
		for range 40 {
			go func() {
				_, err := lease.Do(t.Context(), c, "slow", time.Minute, call, func(string, error) {})
				ended <- err
			}()
		}
		synctest.Wait()
		begin := time.Now()
		quick := func(context.Context) (string, error) { return "", nil }
		if _, err := lease.Do(t.Context(), c, "quick", time.Minute, quick, never(t)); err != nil || time.Since(begin) > 0 {
			t.Errorf("another engine waited %s: %v", time.Since(begin), err)
		}
		for range 40 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if most.Load() != 8 {
			t.Errorf("%d calls at once, want 8", most.Load())
		}
	})
}
