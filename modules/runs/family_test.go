package runs_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
)

func splitOf(n int) runs.Submission {
	return runs.Submission{Name: "deploy", Spec: runs.Spec{Playbook: "site.yml", Shards: n},
		ExtraVars: runs.Vars{"v": []byte(`1`)}}
}

// divided submits a split run and divides it over the hosts.
func (b *bundle) divided(n int, hosts ...string) *runs.Run {
	b.t.Helper()
	r := b.submit(splitOf(n))
	a := b.claim()
	if a.Run.ID != r.ID {
		b.t.Fatalf("claimed %s %s", a.Run.Kind, a.Run.ID)
	}
	if err := b.Worklist.Divide(b.t.Context(), a.Lease, hosts,
		[]runs.Warning{{Code: runs.WarnShardSemantics, Message: "serial"}}); err != nil {
		b.t.Fatal(err)
	}
	return b.status(r.ID, runs.Running)
}

func (b *bundle) children(id string) []*runs.Run {
	b.t.Helper()
	return must[[]*runs.Run](b.t)(b.Reader.Children(b.t.Context(), id))
}

func (b *bundle) endShard(a *runs.Assignment, s runs.Status, outcome runs.Outcome) {
	b.t.Helper()
	e := runs.Ending{Status: s, Counts: runs.HostCounts{outcome: len(a.Run.Spec.LimitHosts)},
		Touched: len(a.Run.Spec.LimitHosts)}
	for _, h := range a.Run.Spec.LimitHosts {
		e.Hosts = append(e.Hosts, runs.HostSummary{Host: h, OK: 1, Worst: outcome})
	}
	e.Outputs = runs.Vars{"by": fmt.Appendf(nil, "%d", a.Run.ShardIndex)}
	b.finish(a, e)
}

func TestASplitRollsUpItsShards(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		r := b.divided(3, "a", "b", "c", "d")
		if r.Worker != "" || r.ShardCount != 3 {
			t.Errorf("held by %q, %d shards", r.Worker, r.ShardCount)
		}
		var hosts []string
		for i, s := range b.children(r.ID) {
			if s.ShardIndex != i || s.ShardCount != 3 || s.Kind != runs.Shard || len(s.Spec.LimitHosts) == 0 ||
				s.Spec.Shards != 0 {
				t.Errorf("shard %d: %+v", i, s)
			}
			hosts = append(hosts, s.Spec.LimitHosts...)
		}
		slices.Sort(hosts)
		if !slices.Equal(hosts, []string{"a", "b", "c", "d"}) {
			t.Errorf("hosts %v", hosts)
		}
		for i, s := range []runs.Status{runs.Succeeded, runs.Failed, runs.Interrupted} {
			a := b.claim()
			if string(a.Run.Vars["v"]) != "1" {
				t.Errorf("vars %s", a.Run.Vars)
			}
			b.begin(a)
			b.endShard(a, s, []runs.Outcome{runs.HostOK, runs.HostFailed, runs.HostUnreachable}[i])
		}
		got := b.status(r.ID, runs.Failed)
		if got.HostsTouched != 4 || string(got.Outputs["by"]) != "2" ||
			!strings.Contains(got.Error, "1 failed, 1 interrupted") {
			t.Errorf("%d hosts, outputs %s, %s", got.HostsTouched, got.Outputs, got.Error)
		}
		if len(b.heard.finished(r.ID)) != 1 {
			t.Error("the end was not published once")
		}
		if h := must[[]runs.HostSummary](t)(b.Reader.Hosts(t.Context(), r.ID)); len(h) != 4 {
			t.Errorf("hosts %v", h)
		}
		b.retryAndRelaunch(got)
	})
}

func (b *bundle) retryAndRelaunch(r *runs.Run) {
	b.t.Helper()
	var failed [][]string
	var bad []string
	for _, s := range b.children(r.ID) {
		if s.Status != runs.Succeeded {
			failed = append(failed, s.Spec.LimitHosts)
			bad = append(bad, s.Spec.LimitHosts...)
		}
	}
	slices.Sort(bad)
	again := must[*runs.Run](b.t)(b.Controller.Retry(b.t.Context(), r.ID))
	if again.Kind != runs.Split || again.Origin.RetryOf != r.ID || again.Status != runs.Pending {
		b.t.Errorf("%+v", again)
	}
	var got [][]string
	for _, s := range b.children(again.ID) {
		got = append(got, s.Spec.LimitHosts)
	}
	if diff := cmp.Diff(failed, got); diff != "" {
		b.t.Error(diff)
	}
	for range failed {
		b.endShard(b.claim(), runs.Succeeded, runs.HostOK)
	}
	b.status(again.ID, runs.Succeeded)
	if _, err := b.Controller.Retry(b.t.Context(), again.ID); !runs.RunNotRetryable.Is(err) {
		b.t.Errorf("retry of what succeeded: %v", err)
	}
	one := must[*runs.Run](b.t)(b.Controller.RelaunchFailed(b.t.Context(), r.ID))
	if one.Kind != runs.Single || !slices.Equal(one.Spec.LimitHosts, bad) || one.Origin.Source != runs.FromRelaunch {
		b.t.Errorf("%s over %v, want %v", one.Kind, one.Spec.LimitHosts, bad)
	}
	if _, err := b.Controller.RelaunchFailed(b.t.Context(), again.ID); !runs.NoFailedHosts.Is(err) {
		b.t.Errorf("relaunch of what succeeded: %v", err)
	}
	if _, err := b.Controller.RelaunchFailed(b.t.Context(), one.ID); !runs.RunNotRelaunchable.Is(err) {
		b.t.Errorf("relaunch of what has not ended: %v", err)
	}
}

func TestASplitWithoutHostsEnds(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		r := b.submit(splitOf(4))
		a := b.claim()
		if err := b.Worklist.Divide(t.Context(), a.Lease, nil, nil); err != nil {
			t.Fatal(err)
		}
		got := b.status(r.ID, runs.Succeeded)
		if len(got.Warnings) != 1 || got.Warnings[0].Code != runs.WarnNoHostsMatched || len(b.children(r.ID)) != 0 {
			t.Errorf("%+v", got.Warnings)
		}
		if err := b.Worklist.Divide(t.Context(), a.Lease, []string{"a"}, nil); !runs.LeaseLost.Is(err) {
			t.Errorf("again: %v", err)
		}
	})
}

func TestCancelOfASplit(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		r := b.divided(3, "a", "b", "c")
		a := b.claim()
		b.begin(a)
		got := must[*runs.Run](t)(b.Controller.Cancel(t.Context(), r.ID))
		if got.Status != runs.Running || !got.CancelRequested {
			t.Errorf("%s", got.Status)
		}
		b.idle()
		b.finish(a, runs.Ending{Status: runs.Canceled})
		b.status(r.ID, runs.Canceled)

		early := b.submit(splitOf(2))
		claimed := b.claim()
		must[*runs.Run](t)(b.Controller.Cancel(t.Context(), early.ID))
		if err := b.Worklist.Divide(t.Context(), claimed.Lease, []string{"a", "b"}, nil); err != nil {
			t.Fatal(err)
		}
		b.status(early.ID, runs.Canceled)
	})
}

func TestTwoShardsFinishAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		for range 25 {
			r := b.divided(4, "a", "b", "c", "d")
			var wg sync.WaitGroup
			for range 4 {
				a := b.claim()
				b.begin(a)
				wg.Go(func() {
					if err := b.Worklist.Finish(t.Context(), a.Lease, runs.Ending{Status: runs.Succeeded}); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			b.status(r.ID, runs.Succeeded)
			if n := len(b.heard.finished(r.ID)); n != 1 {
				t.Fatalf("ended %d times", n)
			}
			if n := b.trail.count(r.ID, audit.RunFinal); n != 1 {
				t.Fatalf("%d entries of the end", n)
			}
		}
	})
}

func stage(name string, deps ...string) runs.StepSpec {
	return runs.StepSpec{Name: name, Tool: "bash", Command: "true", DependsOn: deps}
}

func (b *bundle) pipeline(q runs.PipelineSubmission) *runs.Run {
	b.t.Helper()
	r, _, err := b.Submitter.SubmitPipeline(b.t.Context(), q)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func TestAPipelineRunsItsGraph(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		soft := stage("soft", "build")
		soft.ContinueOnFailure = true
		hard := stage("hard", "build")
		hard.Retries = 1
		p := b.pipeline(runs.PipelineSubmission{Name: "p", ExtraVars: runs.Vars{"base": []byte(`1`)}, Queue: "default",
			Steps: []runs.StepSpec{stage("build"), soft, hard, stage("after", "soft"), stage("never", "hard")}})
		if p.Kind != runs.Pipeline || len(b.children(p.ID)) != 1 {
			t.Fatalf("%s with %d children", p.Kind, len(b.children(p.ID)))
		}
		a := b.claim()
		b.begin(a)
		b.status(p.ID, runs.Running)
		b.finish(a, runs.Ending{Status: runs.Succeeded, Outputs: runs.Vars{"version": []byte(`"7"`)}})
		ends := map[string]runs.Status{"soft": runs.Failed, "hard": runs.Failed, "after": runs.Succeeded}
		for range 4 { // soft, hard twice, after
			a := b.claim()
			if string(a.Run.Vars["version"]) != `"7"` || string(a.Run.Vars["base"]) != `1` {
				t.Errorf("%s has vars %s", a.Run.Name, a.Run.Vars)
			}
			b.begin(a)
			b.finish(a, runs.Ending{Status: ends[a.Run.StepName]})
		}
		b.idle()
		got := b.status(p.ID, runs.Failed)
		want := map[string]runs.Status{"build": runs.Succeeded, "soft": runs.Failed, "hard": runs.Failed,
			"after": runs.Succeeded, "never": runs.Skipped}
		for _, s := range got.Graph.Steps {
			if s.Status != want[s.Name] || (s.RunID == "") != (s.Status == runs.Skipped) {
				t.Errorf("step %s is %s, run %q", s.Name, s.Status, s.RunID)
			}
		}
		if got.Graph.Step("hard").Attempt != 2 || got.Error != `step "hard" failed` || len(got.Warnings) != 1 {
			t.Errorf("attempt %d, %s, %v", got.Graph.Step("hard").Attempt, got.Error, got.Warnings)
		}
		if _, err := b.Controller.RelaunchFailed(t.Context(), p.ID); !runs.RunNotRelaunchable.Is(err) {
			t.Errorf("relaunch: %v", err)
		}
		again := must[*runs.Run](t)(b.Controller.Rerun(t.Context(), p.ID))
		if again.Lineage != p.Lineage || len(again.Graph.Steps) != 5 || len(b.children(again.ID)) != 1 {
			t.Errorf("%+v", again.Graph)
		}
	})
}

func TestAHeldPipelineStartsNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		queue, stop := b.d.Signals().Watch(events.TopicQueue)
		defer stop()
		p := b.pipeline(runs.PipelineSubmission{RequireApproval: true, Steps: []runs.StepSpec{stage("a"), stage("b")}})
		if len(b.children(p.ID)) != 0 {
			t.Error("something started before the approval")
		}
		b.idle()
		must[*runs.Run](t)(b.Approver.Approve(admin(t.Context()), p.ID, runs.DecisionInput{}))
		b.eventually("an executor is woken", func() bool { return <-queue == runs.DefaultQueue })
		b.run(runs.Succeeded)
		b.run(runs.Succeeded)
		b.status(p.ID, runs.Succeeded)
	})
}

func TestCancelOfAPipeline(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		p := b.pipeline(runs.PipelineSubmission{Steps: []runs.StepSpec{stage("a"), stage("b", "a"), stage("c")}})
		a := b.claim()
		b.begin(a)
		must[*runs.Run](t)(b.Controller.Cancel(t.Context(), p.ID))
		b.idle()
		b.finish(a, runs.Ending{Status: runs.Succeeded}) // the cancel came too late for this step
		got := b.status(p.ID, runs.Canceled)
		if s := got.Graph.Step("b").Status; s != runs.Skipped {
			t.Errorf("the step after it is %s", s)
		}
		waiting := b.pipeline(runs.PipelineSubmission{Steps: []runs.StepSpec{stage("a")}})
		must[*runs.Run](t)(b.Controller.Cancel(t.Context(), waiting.ID))
		b.status(waiting.ID, runs.Canceled)
	})
}

// TestAParentsStreamCarriesItsChildrensMatrix follows a parent while its children run. The first delta holds the
// whole matrix.
func TestAParentsStreamCarriesItsChildrensMatrix(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		r := b.divided(2, "a", "b")
		deltas, done := make(chan *runs.MatrixDelta, 16), make(chan error, 1)
		go func() {
			done <- b.Streamer.Follow(t.Context(), r.ID, 0, 0, func(u runs.Update) error {
				if u.Matrix != nil {
					deltas <- u.Matrix
				}
				return nil
			})
		}()
		rev := int64(0)
		for range 2 {
			a := b.claim()
			b.begin(a)
			must[int64](t)(b.Journal.AppendEvents(t.Context(), a.Lease, []runs.Event{
				{Seq: a.NextSeq, Type: runs.EventHostOK, TaskID: "t", Task: "copy", Host: a.Run.Spec.LimitHosts[0]},
			}))
			d := <-deltas
			for len(d.Names) == 0 { // the shards' own states count as well
				rev, d = d.Rev, <-deltas
			}
			if d.Since != rev || len(d.Names) != 1 || d.Names[0] != a.Run.Spec.LimitHosts[0] {
				t.Errorf("of shard %d is told %+v, after revision %d", a.Run.ShardIndex, d, rev)
			}
			rev = d.Rev
			b.endShard(a, runs.Succeeded, runs.HostOK)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if m := must[*runs.Matrix](t)(b.Insight.Matrix(t.Context(), r.ID, runs.MatrixQuery{})); m.Hosts != 2 ||
			len(m.Tasks) != 1 {
			t.Errorf("the matrix is %+v", m)
		}
	})
}
