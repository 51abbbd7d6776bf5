package execution_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
)

// die runs an executor whose slot ends for ever at the given point, as if the process were killed there, and leaves
// what it held behind.
func (b *bench) die(point string, list ...*runs.Run) {
	b.t.Helper()
	dead := make(chan struct{}, len(list))
	crash := b.config.Crash
	b.config.Crash = func(at string) {
		if at == point {
			dead <- struct{}{}
			runtime.Goexit()
		}
	}
	b.config.Executors = len(list)
	for _, r := range list {
		b.plane.submit(r)
	}
	_, stop := b.start()
	for range list {
		<-dead
	}
	stop()
	b.config.Crash = crash
}

// Keeps F03, F04, F05, F06.
func TestEveryPointOfDeath(t *testing.T) {
	t.Parallel()
	for point, c := range map[string]struct {
		status runs.Status
		epoch  int64
		error  string
		starts int
	}{
		"after-claim":   {runs.Succeeded, 2, "", 1}, // given back, then executed once
		"after-begin":   {runs.Interrupted, 1, "the executor was killed while it ran", 0},
		"after-exit":    {runs.Interrupted, 1, "the executor was killed while it ran", 1},
		"before-finish": {runs.Succeeded, 1, "", 1},
		"after-finish":  {runs.Succeeded, 1, "", 1},
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			starts := 0
			b := setup(t, toolFunc(func(_ context.Context, _ extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
				starts++
				_, err := io.WriteString(out, "said\n")
				return extension.ToolResult{}, err
			}))
			b.die(point, &runs.Run{ID: "run_1"})
			_, stop := b.start()
			got := b.ended("run_1")
			b.until("the clean-up", func() bool {
				left, err := filepath.Glob(filepath.Join(b.config.RunsDir, "run_*"))
				return err == nil && len(left) == 0
			})
			stop()
			if got.run.Status != c.status || got.run.Epoch != c.epoch || got.end.Error != c.error || starts != c.starts {
				t.Fatalf("%s in epoch %d after %d starts: %+v", got.run.Status, got.run.Epoch, starts, got.end)
			}
			if c.status == runs.Succeeded && string(got.log) != "said\n" {
				t.Fatalf("the log is %q", got.log)
			}
			if !b.reaper.reaped("run_1") {
				t.Fatal("nobody looked for what the run left running")
			}
		})
	}
}

// Keeps F05.
func TestAnEndingOfALostLeaseStaysAsEvidence(t *testing.T) {
	t.Parallel()
	b := setup(t, echo)
	b.die("before-finish", &runs.Run{ID: "run_1", Spec: runs.Spec{Command: "said"}})
	b.plane.expire("run_1")
	finishes := b.plane.count("finish")
	_, stop := b.start()
	b.until("the evidence", func() bool { return len(b.evidence()) > 0 })
	stop()
	if got := b.plane.see("run_1"); got.run.Status != runs.Interrupted || b.plane.count("finish") != finishes ||
		len(got.log) != 0 {
		t.Fatalf("a lost run was written: %+v", got.run)
	}
	if !strings.Contains(strings.Join(b.evidence(), " "), "state.jsonl") || !b.reaper.reaped("run_1") {
		t.Fatalf("kept is %v", b.evidence())
	}
}

func TestALostLeaseDuringReplay(t *testing.T) {
	t.Parallel()
	b := setup(t, echo)
	b.die("before-finish", &runs.Run{ID: "run_1", Spec: runs.Spec{Command: "said"}})
	b.plane.fail(func(op, id string) error {
		if op == "events" {
			b.plane.expire(id)
		}
		return nil
	})
	_, stop := b.start()
	defer stop()
	b.until("the evidence", func() bool { return len(b.evidence()) > 0 })
	if got := b.plane.see("run_1"); got.run.Status != runs.Interrupted || got.end != nil {
		t.Fatalf("a lost run was written: %+v", got.run)
	}
}

func TestTwentyRunsAreSettledAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, hang)
	var list []*runs.Run
	for i := range 20 {
		list = append(list, &runs.Run{ID: fmt.Sprintf("run_%d", i)})
	}
	b.die("after-begin", list...)
	late := time.AfterFunc(runs.LeaseTTL, func() {})
	b.config.Executors = 1
	_, stop := b.start()
	defer stop()
	for _, r := range list {
		if got := b.ended(r.ID); got.run.Status != runs.Interrupted {
			t.Fatalf("%s is %s", r.ID, got.run.Status)
		}
	}
	if !late.Stop() {
		t.Fatal("it took longer than the lease allows")
	}
}

func TestWhatWasSpooledIsReplayed(t *testing.T) {
	t.Parallel()
	size := depthtest.Of(2, 6) << 20
	b := setup(t, noisy(size))
	died := false
	b.plane.fail(func(op, _ string) error {
		if op == "log" && !died {
			return errors.New("away") // everything stays in the spool
		}
		return nil
	})
	b.config.Executors = 1
	b.plane.submit(&runs.Run{ID: "run_1"})
	x, _ := b.start()
	b.until("the ending on disk", func() bool {
		state, err := os.ReadFile(filepath.Join(b.config.RunsDir, "run_1.1", "state.jsonl"))
		return err == nil && strings.Contains(string(state), `"ending"`)
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = x.Stop(ctx)
	b.plane.mu.Lock()
	died = true
	b.plane.mu.Unlock()
	_, stop := b.start()
	defer stop()
	got := b.ended("run_1")
	if want := expected(size); got.run.Status != runs.Succeeded || string(got.log) != string(want) || got.holes != 0 ||
		got.end.LogOmitted != 0 {
		t.Fatalf("%s: %d of %d bytes, %d missing", got.run.Status, len(got.log), len(want), got.holes)
	}
}

func TestOthersDirectoriesAreLeftAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, echo)
	b.config.Worker = "w2"
	b.die("after-begin", &runs.Run{ID: "run_1"})
	b.config.Worker = "w1"
	b.config.Executors = 1
	got := b.run(&runs.Run{ID: "run_2"})
	if got.run.Status != runs.Succeeded || b.reaper.reaped("run_1") {
		t.Fatalf("ended as %s", got.run.Status)
	}
	if _, err := os.Stat(filepath.Join(b.config.RunsDir, "run_1.1", "state.jsonl")); err != nil {
		t.Fatal(err)
	}
}
