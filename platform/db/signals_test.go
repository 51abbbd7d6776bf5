package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/waittest"
)

// hear waits for a payload and skips empty ones, which mean "check everything".
func hear(t *testing.T, ch <-chan string, want string) {
	t.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	for {
		select {
		case got := <-ch:
			if got == want {
				return
			}
			if got != "" {
				t.Errorf("heard %q, want %q", got, want)
			}
		case <-limit.C:
			t.Fatalf("never heard %q", want)
		}
	}
}

func silent(t *testing.T, ch <-chan string) {
	t.Helper()
	for {
		select {
		case got := <-ch:
			if got != "" {
				t.Errorf("heard %q, want silence", got)
			}
		default:
			return
		}
	}
}

func signal(t *testing.T, ctx context.Context, d *db.DB, payload string) {
	t.Helper()
	if err := d.Signals().Signal(ctx, events.TopicRun, payload); err != nil {
		t.Errorf("signal: %v", err)
	}
}

func TestSignalsWakeAfterTheCommit(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ch, stop := d.Signals().Watch(events.TopicRun)
		defer stop()
		other, stopOther := d.Signals().Watch(events.TopicQueue)
		defer stopOther()
		_ = d.Do(t.Context(), func(ctx context.Context) error {
			signal(t, ctx, d, "rolled back")
			return errors.New("stop")
		})
		err := d.Do(t.Context(), func(ctx context.Context) error {
			signal(t, ctx, d, "committed")
			silent(t, ch)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		hear(t, ch, "committed")
		signal(t, t.Context(), d, "at once")
		hear(t, ch, "at once")
		silent(t, other)
	})
}

func TestSignalsOverflowEndsInLookAtEverything(t *testing.T) {
	d := dbtest.Open(t, db.SQLite, migrations(t))
	ch, stop := d.Signals().Watch(events.TopicRun)
	for n := range 1000 {
		signal(t, t.Context(), d, fmt.Sprint(n))
	}
	last, n := "none", 0
	for len(ch) > 0 {
		last = <-ch
		n++
	}
	if last != "" || n < 2 || n > 100 {
		t.Errorf("the last of %d payloads is %q, want the empty one", n, last)
	}
	signal(t, t.Context(), d, "more")
	hear(t, ch, "more")
	for range 10 {
		signal(t, t.Context(), d, "same")
	}
	if len(ch) != 1 {
		t.Errorf("%d payloads wait, want one for equal ones", len(ch))
	}
	stop()
	stop()
	<-ch
	signal(t, t.Context(), d, "late")
	if len(ch) != 0 {
		t.Error("a stopped watcher was woken")
	}
}

func TestSignalsReachOtherProcesses(t *testing.T) {
	t.Parallel()
	url := dbtest.Fresh(t, db.Postgres, migrations(t))
	a, b := dbtest.Connect(t, db.Config{URL: url}), dbtest.Connect(t, db.Config{URL: url})
	ch, stop := b.Signals().Watch(events.TopicRun)
	defer stop()
	if got := <-ch; got != "" {
		t.Errorf("heard %q first, want to be told to look", got)
	}
	_ = a.Do(t.Context(), func(ctx context.Context) error {
		signal(t, ctx, a, "rolled back")
		return errors.New("stop")
	})
	err := a.Do(t.Context(), func(ctx context.Context) error {
		signal(t, ctx, a, "run_1 with spaces")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	hear(t, ch, "run_1 with spaces")
	signal(t, t.Context(), a, strings.Repeat("x", 20_000))
	if got := <-ch; got != "" {
		t.Errorf("a payload that is too long came as %.20q", got)
	}
}

func TestSignalsSurviveARestart(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewCluster(t)
	a, b := dbtest.Connect(t, db.Config{URL: cluster.URL()}), dbtest.Connect(t, db.Config{URL: cluster.URL()})
	ch, stop := b.Signals().Watch(events.TopicRun)
	defer stop()
	<-ch
	if err := cluster.Restart(t.Context(), dbtest.Immediate); err != nil {
		t.Fatal(err)
	}
	if got := <-ch; got != "" {
		t.Errorf("heard %q after the restart, want to be told to look", got)
	}
	waittest.Eventually(t, 20*time.Second, "a signal is sent after the restart", func() bool {
		return a.Signals().Signal(t.Context(), events.TopicRun, "run_2") == nil
	})
	hear(t, ch, "run_2")
	if b.Stats().Reconnects == 0 {
		t.Error("no reconnect was counted")
	}
}
