package execution_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
)

// running waits until the run's tool printed something.
func (b *bench) running(id string) {
	b.t.Helper()
	b.until("the start of "+id, func() bool { text, _ := b.live.output(id); return text != "" })
}

func (b *bench) cancel(id string) {
	b.plane.mu.Lock()
	b.plane.records[id].run.CancelRequested = true
	b.plane.mu.Unlock()
}

func TestCancelBySignal(t *testing.T) {
	t.Parallel()
	b := setup(t, hang)
	_, stop := b.start()
	defer stop()
	b.plane.submit(&runs.Run{ID: "run_1"})
	b.running("run_1")
	if err := b.signals.Signal(t.Context(), events.TopicCancel, "run_1"); err != nil {
		t.Fatal(err)
	}
	if got := b.ended("run_1"); got.run.Status != runs.Canceled || *got.end.ExitCode != 143 ||
		string(got.log) != "started\n" {
		t.Fatalf("ended as %+v", got.end)
	}
}

func TestCancelWithoutASignalIsSeenByTheNextBeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, hang)
		_, stop := b.start()
		defer stop()
		b.plane.submit(&runs.Run{ID: "run_1"})
		b.running("run_1")
		b.cancel("run_1")
		if got := b.ended("run_1"); got.run.Status != runs.Canceled {
			t.Fatalf("ended as %+v", got.end)
		}
	})
}

func TestACancelBeforeTheBeginStartsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, echo)
	got := b.run(&runs.Run{ID: "run_1", CancelRequested: true})
	if got.run.Status != runs.Canceled || b.plane.count("begin") != 0 {
		t.Fatalf("ended as %s after %d begins", got.run.Status, b.plane.count("begin"))
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own     int
		server  time.Duration
		want    string
		longest time.Duration
	}{
		"own":            {3, 0, "timeout of 3 s", 4 * time.Second},
		"server":         {0, 2 * time.Second, "timeout of 2 s", 3 * time.Second},
		"own is shorter": {1, time.Hour, "timeout of 1 s", 2 * time.Second},
		"own is longer":  {4, time.Second, "timeout of 4 s", 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t, hang)
				b.config.RunTimeout = c.server
				late := time.AfterFunc(c.longest, func() {})
				got := b.run(&runs.Run{ID: "run_1", Spec: runs.Spec{TimeoutSeconds: c.own}})
				if !late.Stop() || got.run.Status != runs.Failed || !strings.Contains(got.end.Error, c.want) {
					t.Fatalf("ended as %s: %q", got.run.Status, got.end.Error)
				}
			})
		})
	}
}

// evidence lists what is kept of lost runs.
func (b *bench) evidence() []string {
	names, err := filepath.Glob(filepath.Join(b.config.RunsDir, "lost", "*", "*"))
	if err != nil {
		b.t.Fatal(err)
	}
	return names
}

// Keeps F17.
func TestALostRunIsKilledAndWritesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var killed atomic.Bool
		b := setup(t, toolFunc(func(ctx context.Context, s extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
			r, err := hang(ctx, s, out)
			killed.Store(true)
			_, _ = io.WriteString(out, "late words")
			return r, err
		}))
		_, stop := b.start()
		defer stop()
		b.plane.submit(&runs.Run{ID: "run_1"})
		b.running("run_1")
		<-time.After(time.Second)
		b.plane.expire("run_1")
		before := b.plane.count("log")
		b.until("the kill", killed.Load)
		b.until("the evidence", func() bool { return len(b.evidence()) > 0 })
		got := b.plane.see("run_1")
		if got.run.Status != runs.Interrupted || b.plane.count("finish") != 0 || b.plane.count("log") != before ||
			string(got.log) != "started\n" {
			t.Fatalf("a zombie wrote: %s, %q", got.run.Status, got.log)
		}
		for _, name := range b.evidence() {
			if strings.HasSuffix(name, "vars.json") || strings.HasSuffix(name, "work") {
				t.Fatalf("%s is kept", name)
			}
		}
	})
}

// Keeps F30.
func TestOfCancelTimeoutAndLossTheFirstRules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b *bench
		b = setup(t, toolFunc(func(ctx context.Context, s extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
			r, err := hang(ctx, s, out)
			b.cancel("run_1") // while the tree is being killed for its timeout
			_ = b.signals.Signal(context.Background(), events.TopicCancel, "run_1")
			_ = b.signals.Signal(context.Background(), events.TopicCancel, "")
			<-time.After(5 * time.Second)
			return r, err
		}))
		got := b.run(&runs.Run{ID: "run_1", Spec: runs.Spec{TimeoutSeconds: 9}})
		if got.run.Status != runs.Failed || !strings.Contains(got.end.Error, "timeout of 9 s") {
			t.Fatalf("ended as %s: %q", got.run.Status, got.end.Error)
		}
	})
}

func TestAnOutageShorterThanTheGraceHurtsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, toolFunc(func(ctx context.Context, _ extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
			for range 100 {
				if _, err := io.WriteString(out, "tick\n"); err != nil {
					return extension.ToolResult{}, err
				}
				select {
				case <-ctx.Done():
					return extension.ToolResult{ExitCode: 143}, nil
				case <-time.After(time.Second):
				}
			}
			return extension.ToolResult{}, nil
		}))
		b.plane.submit(&runs.Run{ID: "run_1"})
		_, stop := b.start()
		defer stop()
		b.running("run_1")
		b.plane.fail(func(string, string) error { return errors.New("away") })
		<-time.After(90 * time.Second)
		b.plane.fail(nil)
		if got := b.ended("run_1"); got.run.Status != runs.Succeeded || string(got.log) != strings.Repeat("tick\n", 100) ||
			got.holes != 0 {
			t.Fatalf("ended as %+v", got.end)
		}
	})
}

func TestALongOutageEndsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, hang)
		b.plane.submit(&runs.Run{ID: "run_1"})
		_, stop := b.start()
		defer stop()
		b.running("run_1")
		b.plane.fail(func(string, string) error { return errors.New("away") })
		<-time.After(5 * time.Minute)
		b.plane.fail(nil)
		if got := b.ended("run_1"); got.run.Status != runs.Interrupted || !strings.Contains(got.end.Error, "lost contact") {
			t.Fatalf("ended as %+v", got.end)
		}
	})
}

func TestADrainLetsRunsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, toolFunc(func(_ context.Context, _ extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
			_, err := io.WriteString(out, "x")
			<-time.After(8 * time.Second)
			return extension.ToolResult{}, err
		}))
		b.config.Executors = 1
		_, stop := b.start()
		b.plane.submit(&runs.Run{ID: "run_1"})
		b.running("run_1")
		b.plane.submit(&runs.Run{ID: "run_2"})
		stop()
		if one, two := b.plane.see("run_1").run.Status, b.plane.see("run_2").run.Status; one != runs.Succeeded ||
			two != runs.Pending {
			t.Fatalf("the runs are %s and %s", one, two)
		}
	})
}

func TestADrainHasAnEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		again bool
		want  time.Duration
	}{"by time": {false, 10 * time.Second}, "by a second stop": {true, time.Second}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t, hang)
				x, stop := b.start()
				b.plane.submit(&runs.Run{ID: "run_1"})
				b.running("run_1")
				early, late := time.AfterFunc(c.want-time.Millisecond, func() {}),
					time.AfterFunc(c.want+time.Millisecond, func() {})
				if c.again {
					time.AfterFunc(time.Second, func() { _ = x.Stop(context.Background()) })
				}
				stop()
				got := b.plane.see("run_1")
				if got.run.Status != runs.Interrupted || got.end.Error != "the executor was stopped" || early.Stop() ||
					!late.Stop() {
					t.Fatalf("the run is %+v", got.end)
				}
				synctest.Wait()
			})
		})
	}
}

func TestAStopGivesBackWhatHasNotBegun(t *testing.T) {
	t.Parallel()
	b := setup(t, echo)
	claimed, stopping := make(chan struct{}), make(chan struct{})
	b.config.Executors = 1
	b.config.Crash = func(point string) {
		if point == "after-claim" {
			close(claimed)
			<-stopping
		}
	}
	b.plane.submit(&runs.Run{ID: "run_1"})
	_, stop := b.start()
	<-claimed
	time.AfterFunc(50*time.Millisecond, func() { close(stopping) })
	stop()
	if got := b.plane.see("run_1"); got.run.Status != runs.Pending || b.plane.count("begin") != 0 {
		t.Fatalf("the run is %s", got.run.Status)
	}
	if entries, err := os.ReadDir(b.config.RunsDir); err != nil || len(entries) != 0 {
		t.Fatalf("left behind: %v %v", entries, err)
	}
}

func TestAnEndingThatCannotBeStoredWaitsForTheNextLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, hang)
		x, _ := b.start()
		b.plane.submit(&runs.Run{ID: "run_1"})
		b.running("run_1")
		b.plane.fail(func(string, string) error { return errors.New("away") })
		_ = x.Stop(context.Background())
		b.plane.fail(nil)
		if got := b.plane.see("run_1"); got.run.Status != runs.Running {
			t.Fatalf("the run is %s", got.run.Status)
		}
		_, stop := b.start()
		defer stop()
		if got := b.ended("run_1"); got.end.Error != "the executor was stopped" || string(got.log) != "started\n" {
			t.Fatalf("ended as %+v", got.end)
		}
	})
}
