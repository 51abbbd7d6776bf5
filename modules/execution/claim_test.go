package execution_test

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// TestAClaimWhoseAnswerIsLostIsReleased loses the answers of the first claims. The runs are still executed once each,
// without waiting for the end of a lease.
// Keeps F10.
func TestAClaimWhoseAnswerIsLostIsReleased(t *testing.T) {
	t.Parallel()
	var executed atomic.Int32
	b := setup(t, toolFunc(func(ctx context.Context, s extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
		executed.Add(1)
		return echo(ctx, s, out)
	}))
	var lost atomic.Int32
	b.plane.cut = func() error {
		if lost.Add(1) <= 2 {
			return &fault.Error{Kind: fault.Unavailable, Message: "the connection broke"}
		}
		return nil
	}
	for _, id := range []string{"run_1", "run_2", "run_3"} {
		b.plane.submit(&runs.Run{ID: id, Spec: runs.Spec{Command: "hi"}})
	}
	_, stop := b.start()
	defer stop()
	for _, id := range []string{"run_1", "run_2", "run_3"} {
		if got := b.ended(id); got.run.Status != runs.Succeeded || string(got.log) != "hi" {
			t.Errorf("%s is %s with log %q", id, got.run.Status, got.log)
		}
	}
	if n := executed.Load(); n != 3 {
		t.Errorf("3 runs were executed %d times", n)
	}
}

// TestNoClaimFollowsTheLastRun executes runs that waited. A claim from the empty queue would be a commit beside the
// begin of the last run.
func TestNoClaimFollowsTheLastRun(t *testing.T) {
	t.Parallel()
	b := setup(t, echo)
	b.config.Executors, b.config.Poll = 1, time.Hour
	b.plane.changed = func() {} // it would signal at each end too
	for _, id := range []string{"run_1", "run_2", "run_3"} {
		b.plane.submit(&runs.Run{ID: id, Spec: runs.Spec{Command: "hi"}})
	}
	_, stop := b.start()
	for _, id := range []string{"run_1", "run_2", "run_3"} {
		b.ended(id)
	}
	b.plane.submit(&runs.Run{ID: "run_4", Spec: runs.Spec{Command: "hi"}})
	if err := b.signals.Signal(t.Context(), events.TopicQueue, "run"); err != nil {
		t.Fatal(err)
	}
	b.ended("run_4")
	stop()
	if n := b.plane.count("claim"); n != 4 {
		t.Errorf("4 runs took %d claims", n)
	}
}
