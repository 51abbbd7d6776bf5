package background_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/platform/background"
)

// passes counts the calls of an observer.
type passes struct{ good, bad int }

func (p *passes) Pass(string) func(error) {
	return func(err error) {
		if err != nil {
			p.bad++
		} else {
			p.good++
		}
	}
}

func TestLoopRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var at []time.Duration
		l := &background.Loop{
			Name: "count", First: time.Second, Every: time.Minute,
			Pass: func(context.Context) error { at = append(at, time.Since(begun)); return nil },
		}
		l.Start()
		l.Start() // the second one does nothing
		time.Sleep(90 * time.Second)
		l.Wake()
		synctest.Wait()
		time.Sleep(time.Minute + time.Second)
		stop(t, l)
		want := []time.Duration{time.Second, 61 * time.Second, 90 * time.Second, 150 * time.Second}
		if len(at) != len(want) {
			t.Fatalf("passes at %v, want %v", at, want)
		}
		for i := range want {
			if at[i] != want[i] {
				t.Errorf("pass %d at %v, want %v", i, at[i], want[i])
			}
		}
		time.Sleep(time.Hour)
		if len(at) != len(want) {
			t.Error("a stopped loop goes on")
		}
		stop(t, l) // stopping twice does nothing
	})
}

func TestLoopWaitsForWhatIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, n := time.Now(), 0
		var last time.Duration
		l := &background.Loop{
			Name: "due", Pass: func(context.Context) error { n++; last = time.Since(begun); return nil },
			Next: func() time.Duration { return time.Duration(n) * time.Hour },
		}
		l.Start()
		time.Sleep(3*time.Hour + time.Minute)
		stop(t, l)
		if n != 3 || last != 3*time.Hour {
			t.Errorf("%d passes, the last at %v", n, last)
		}
	})
}

func TestLoopGoesOnAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var seen passes
		n := 0
		l := &background.Loop{
			Name: "fragile", Every: time.Minute, Log: slog.New(slog.NewTextHandler(&log, nil)), Observer: &seen,
			Pass: func(context.Context) error {
				if n++; n == 1 {
					return errors.New("no database")
				}
				return nil
			},
		}
		l.Start()
		time.Sleep(90 * time.Second)
		stop(t, l)
		if seen.good != 1 || seen.bad != 1 {
			t.Errorf("observed %+v", seen)
		}
		if got := log.String(); strings.Count(got, "work=fragile") != 1 || !strings.Contains(got, "no database") {
			t.Errorf("logged %q", got)
		}
	})
}

func TestPassesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var took time.Duration
		l := &background.Loop{
			Name: "slow", Every: time.Hour, Timeout: time.Minute,
			Pass: func(ctx context.Context) error { <-ctx.Done(); took = time.Since(begun); return ctx.Err() },
		}
		l.Start()
		time.Sleep(2 * time.Minute)
		stop(t, l)
		if took != time.Minute {
			t.Errorf("a pass took %v", took)
		}
	})
}

func TestStopWaitsForThePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		l := &background.Loop{
			Name: "stubborn", Every: time.Hour,
			Pass: func(context.Context) error { <-release; return nil },
		}
		g := background.Group{l, {Name: "quick", Every: time.Hour, Pass: func(context.Context) error { return nil }}}
		g.Start()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Stop returned %v while a pass runs", err)
		}
		close(release)
		if err := g.Stop(t.Context()); err != nil {
			t.Errorf("Stop returned %v", err)
		}
	})
}

func stop(t *testing.T, l *background.Loop) {
	t.Helper()
	if err := l.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestLoopIsWokenBySignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, ended, ch := 0, false, make(chan string, 1)
		l := &background.Loop{
			Name: "signals", Every: time.Hour, Pass: func(context.Context) error { n++; return nil },
			Watch: func() (<-chan string, func()) { return ch, func() { ended = true } },
		}
		l.Start()
		synctest.Wait()
		ch <- "something is due"
		synctest.Wait()
		stop(t, l)
		if n != 2 || !ended {
			t.Errorf("%d passes, watch ended: %v", n, ended)
		}
	})
}

// TestStartWhileAPassEnds restarts a loop during the last pass of its previous run: two passes never overlap.
func TestStartWhileAPassEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, most := 0, 0
		release := make(chan struct{})
		l := &background.Loop{
			Name: "slow to end", Every: time.Second,
			Pass: func(context.Context) error {
				running++
				most = max(most, running)
				<-release
				running--
				return nil
			},
		}
		l.Start()
		synctest.Wait()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Stop(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Stop returned %v while a pass runs", err)
		}
		l.Start()
		synctest.Wait()
		close(release)
		stop(t, l)
		l.Start()
		synctest.Wait()
		stop(t, l)
		if most != 1 {
			t.Errorf("%d passes ran at once", most)
		}
	})
}

// TestAStoppedLoopMakesNoPass stops a loop that is woken at the same moment.
func TestAStoppedLoopMakesNoPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			l := &background.Loop{Name: "woken", First: time.Hour, Every: time.Hour, Pass: func(ctx context.Context) error {
				if ctx.Err() != nil {
					t.Error("a pass began after the stop")
				}
				return nil
			}}
			l.Start()
			synctest.Wait()
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			go l.Wake()
			_ = l.Stop(ended)
			stop(t, l)
		}
	})
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if !background.Wait(t.Context(), time.Minute) || time.Since(begun) != time.Minute {
			t.Errorf("waited %s", time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if background.Wait(ctx, time.Minute) || time.Since(begun) != time.Minute+time.Second {
			t.Errorf("waited %s", time.Since(begun))
		}
	})
}
