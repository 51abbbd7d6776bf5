package explain

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// fleet lists its workers one by one.
type fleet []execution.Worker

func (f fleet) Workers(_ context.Context, w page.Window) ([]execution.Worker, int, error) {
	return f[w.Offset:min(w.Offset+1, len(f))], len(f), nil
}

func at(minute int) time.Time { return time.Date(2030, 1, 2, 3, minute, 0, 0, time.UTC) }

// TestWhy has the whole explanation of a run in each state.
func TestWhy(t *testing.T) {
	t.Parallel()
	code := 3
	ann := &runs.Cancellation{By: actor.Actor{Name: "ann"}, At: at(5)}
	for name, c := range map[string]struct {
		run  runs.Run
		want runs.Reason
	}{
		"held": {runs.Run{Status: runs.PendingApproval, CreatedAt: at(1),
			Approvals: &runs.Approvals{Holds: []runs.Hold{{Name: "require_approval", Needed: 1}}}},
			runs.Reason{Code: "held_for_approval", Object: "require_approval", Since: at(1),
				Text: "the run was submitted with require_approval, which holds it for approval",
				Next: "an administrator approves or rejects the run"}},
		"executing": {runs.Run{Status: runs.Running, Worker: "w", Begun: true, StartedAt: at(2)},
			runs.Reason{Code: "executing", Text: "an executor works on the run", Object: "w", Since: at(2),
				Next: "its process ends"}},
		"claimed": {runs.Run{Status: runs.Running, Worker: "w", QueuedAt: at(2)},
			runs.Reason{Code: "claimed", Text: "an executor has taken the run and prepares it", Object: "w", Since: at(2),
				Next: "the executor starts it"}},
		"succeeded": {runs.Run{Status: runs.Succeeded, EndedAt: at(9)},
			runs.Reason{Code: "succeeded", Text: "the run succeeded", Object: "run", Since: at(9)}},
		"failed": {runs.Run{Status: runs.Failed, ExitCode: &code, EndedAt: at(9)},
			runs.Reason{Code: "failed", Text: "the tool ended with exit code 3", Object: "run", Since: at(9)}},
		"rejected": {runs.Run{Status: runs.Rejected, EndedAt: at(9),
			Decision: &runs.Decision{By: actor.Actor{Name: "bob"}, Reason: "no"}},
			runs.Reason{Code: "rejected", Text: "bob rejected the run: no", Object: "bob", Since: at(9)}},
		"interrupted": {runs.Run{Status: runs.Interrupted, EndedAt: at(9), Worker: "w",
			Error: "the executor stopped reporting"},
			runs.Reason{Code: "interrupted", Text: "the run was interrupted: the executor stopped reporting", Object: "w",
				Since: at(9), Next: "somebody looks at what it has done and runs it again; nothing repeats it by itself"}},
		"canceled": {runs.Run{Status: runs.Canceled, EndedAt: at(9), Canceled: ann},
			runs.Reason{Code: "canceled", Text: "ann canceled the run", Object: "ann", Since: at(9)}},
		"canceled by nobody known": {runs.Run{Status: runs.Canceled, EndedAt: at(9)},
			runs.Reason{Code: "canceled", Text: "the run was canceled", Object: "run", Since: at(9)}},
	} {
		got, err := (&stored{run: c.run}).explainer().Why(t.Context(), "run")
		if err != nil || got.State != c.run.Status {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		if diff := cmp.Diff([]runs.Reason{c.want}, got.Reasons); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	r := runs.Run{Status: runs.Running, Worker: "w", Begun: true, CancelRequested: true, Canceled: ann}
	got, err := (&stored{run: r}).explainer().Why(t.Context(), "run")
	if err != nil || len(got.Reasons) != 2 || got.Reasons[1] != (runs.Reason{Code: "cancel_requested", Object: "w",
		Text: "ann asked to cancel the run", Since: at(5), Next: "the executor ends its processes"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestWaitingForExecutors tells a queue that nobody serves from one whose executors are busy.
func TestWaitingForExecutors(t *testing.T) {
	t.Parallel()
	serves := func(fresh bool, executors, running int, queues ...string) execution.Worker {
		return execution.Worker{Name: "w", Queues: queues, Executors: executors, Running: running, Fresh: fresh,
			SeenAt: at(7)}
	}
	for name, c := range map[string]struct {
		fleet            Workers
		code, text, next string
	}{
		"not known": {nil, "waiting_for_executor", `in the queue "q" 3 wait and 2 run`,
			"an executor of the queue takes the run"},
		"nobody": {fleet{serves(true, 4, 0, "other")}, "no_executor", `no executor serves the queue "q"`,
			"start a worker that serves the queue"},
		"lost": {fleet{serves(true, 4, 0, "other"), serves(false, 4, 0, "q")}, "no_executor",
			`no executor serves the queue "q"; w did, and has not reported since 2030-01-02T03:07:00Z`,
			"start a worker that serves the queue"},
		"takes no runs": {fleet{serves(true, 0, 0, "q")}, "no_executor", `no executor serves the queue "q"`,
			"start a worker that serves the queue"},
		"busy": {fleet{serves(true, 1, 1, "q"), serves(true, 2, 2, "other", "q")}, "executors_busy",
			`all 3 executors that serve the queue "q" are busy; in the queue 3 wait and 2 run`,
			"one of them ends its run"},
		"free": {fleet{serves(true, 1, 1, "q"), serves(true, 2, 1, "q")}, "waiting_for_executor",
			`in the queue "q" 3 wait and 2 run`, "an executor of the queue takes the run"},
	} {
		x := (&stored{run: runs.Run{Status: runs.Pending, Spec: runs.Spec{Queue: "q"}, QueuedAt: at(3)}}).explainer()
		x.Workers = c.fleet
		got, err := x.Why(t.Context(), "run")
		want := []runs.Reason{{Code: c.code, Text: c.text, Object: "q", Since: at(3), Next: c.next}}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Reasons); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestWhyOfParents explains a parent by its children: what each step waits for, and shards that wait for the same once.
func TestWhyOfParents(t *testing.T) {
	t.Parallel()
	step := func(name string, s runs.Status, depends ...string) runs.StepState {
		return runs.StepState{StepSpec: runs.StepSpec{Name: name, DependsOn: depends}, Status: s}
	}
	codes := func(s *stored) (out []string) {
		x := s.explainer()
		x.Workers = fleet{}
		e, err := x.Why(t.Context(), "run")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range e.Reasons {
			out = append(out, r.Code+" "+r.Object+": "+r.Text+"; "+r.Next)
		}
		return out
	}
	run := func(id, name string, s runs.Status) *runs.Run {
		return &runs.Run{ID: id, Kind: runs.Step, StepName: name, Status: s, Attempt: 1, Worker: "w", Begun: true,
			Spec: runs.Spec{Queue: "q"}}
	}
	again := run("r2", "again", runs.Running)
	again.Attempt = 2
	back := step("back", runs.Skipped, "done")
	back.On = runs.OnFailure
	pipeline := &stored{run: runs.Run{Kind: runs.Pipeline, Status: runs.Running, Graph: &runs.Graph{
		Steps: []runs.StepState{step("done", runs.Succeeded), step("again", runs.Running), step("queued", runs.Pending),
			step("late", "", "done", "again"), step("bad", runs.Failed), step("never", runs.Skipped, "bad"), back},
	}}, children: []*runs.Run{run("r1", "again", runs.Failed), again, run("r3", "queued", runs.Pending)}}
	if diff := cmp.Diff([]string{
		"waiting_for_children run: 3 of its 7 steps have not ended; the last of them ends",
		`executing r2: step "again": an executor works on the run; its process ends`,
		`step_retried r2: step "again": this is attempt 2, since the one before failed; the attempt ends`,
		`no_executor q: step "queued": no executor serves the queue "q"; start a worker that serves the queue`,
		`step_waiting late: step "late": it depends on step "again", which has not ended; step "again" ends`,
		`step_skipped never: step "never": step "bad", which it depends on, ended as failed; `,
		`step_skipped back: step "back": it starts after a failure, and no step that it depends on failed; `,
	}, codes(pipeline)); diff != "" {
		t.Error(diff)
	}
	pipeline.run.Status, pipeline.run.Canceled = runs.Canceled, &runs.Cancellation{By: actor.Actor{Name: "ann"}}
	last := step("last", runs.Skipped, "a")
	last.On = runs.OnAlways
	pipeline.run.Graph.Steps = []runs.StepState{step("a", runs.Canceled), step("b", runs.Skipped), last}
	if diff := cmp.Diff([]string{
		"canceled ann: ann canceled the run; ",
		`step_skipped b: step "b": ann canceled the pipeline before it; `,
		`step_skipped last: step "last": ann canceled the pipeline before it; `,
	}, codes(pipeline)); diff != "" {
		t.Error(diff)
	}
	shard := func(s runs.Status) *runs.Run {
		return &runs.Run{Kind: runs.Shard, Status: s, Spec: runs.Spec{Queue: "q"}}
	}
	split := &stored{run: runs.Run{Kind: runs.Split, Status: runs.Running, ShardCount: 4, CancelRequested: true},
		children: []*runs.Run{shard(runs.Succeeded), shard(runs.Running), shard(runs.Pending), shard(runs.Pending)}}
	if diff := cmp.Diff([]string{
		"waiting_for_children run: 3 of its 4 shards have not ended; the last of them ends",
		"cancel_requested run: the cancellation of the run was requested; those of its runs that have started end",
		`no_executor q: no executor serves the queue "q"; start a worker that serves the queue`,
	}, codes(split)); diff != "" || split.counts != 1 {
		t.Errorf("after %d looks at the queue: %s", split.counts, diff)
	}
}
