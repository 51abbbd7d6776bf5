package runs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

const template = "tpl_0000000000000000000000000a"

// launch is a request from the template.
func launch(when runs.WhenBusy) runs.Submission {
	s := script()
	s.TemplateID, s.WhenBusy = template, when
	s.Origin = runs.Origin{Source: runs.FromTemplate, SourceID: template}
	return s
}

func locked(names ...string) runs.Submission {
	s := script()
	s.Locks = names
	return s
}

func (b *bundle) limit(key runs.SlotKey, n int) {
	b.t.Helper()
	err := b.d.Do(b.t.Context(), func(ctx context.Context) error { return b.Limits.SetLimit(ctx, key, n) })
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bundle) end(a *runs.Assignment) {
	b.t.Helper()
	b.begin(a)
	b.finish(a, runs.Ending{Status: runs.Succeeded})
}

func (b *bundle) wants(r *runs.Run) *runs.Assignment {
	b.t.Helper()
	a := b.claim()
	if a.Run.ID != r.ID {
		b.t.Fatalf("claimed %s, want %s", a.Run.ID, r.ID)
	}
	return a
}

func TestLockNames(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		r := b.submit(locked("b", "a", "b", "Deploy/eu-1.x_2"))
		if diff := cmp.Diff([]string{"b", "a", "Deploy/eu-1.x_2"}, r.Spec.Locks); diff != "" {
			t.Error(diff)
		}
		many := make([]string, runs.MaxLocks+1)
		for i := range many {
			many[i] = fmt.Sprint("l", i)
		}
		steps := []runs.StepSpec{{Name: "s", Tool: "bash", Command: "true"}}
		long := strings.Repeat("a", 64)
		for _, names := range [][]string{{""}, {"-a"}, {"a b"}, {"a:b"}, {long}, {"schedule:sch_1"}, many} {
			pipeline := runs.PipelineSubmission{Locks: names, Steps: steps}
			_, _, err := b.Submitter.Submit(t.Context(), locked(names...))
			if _, _, other := b.Submitter.SubmitPipeline(t.Context(), pipeline); !fault.Is(other, fault.Invalid) {
				t.Errorf("a pipeline with %q: %v", names, other)
			}
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "lock") {
				t.Errorf("%q: %v", names, err)
			}
		}
		if err := b.Checker.Check(t.Context(), locked("a b")); !fault.Is(err, fault.Invalid) {
			t.Errorf("check: %v", err)
		}
	})
}

// TestScheduleLock has the runs of a schedule wait for each other, and a rerun of one too.
func TestScheduleLock(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		fired := func(id, lock string) (*runs.Run, error) {
			q := locked(lock)
			q.Origin = runs.Origin{Source: runs.FromSchedule, SourceID: id}
			r, _, err := b.Submitter.Submit(t.Context(), q)
			return r, err
		}
		first := must[*runs.Run](t)(fired("sch_1", runs.ScheduleLock("sch_1")))
		second := must[*runs.Run](t)(fired("sch_1", runs.ScheduleLock("sch_1")))
		if _, err := fired("sch_2", runs.ScheduleLock("sch_1")); !fault.Is(err, fault.Invalid) {
			t.Errorf("the lock of another schedule: %v", err)
		}
		again := must[*runs.Run](t)(b.Controller.Rerun(t.Context(), first.ID))
		for _, want := range []*runs.Run{first, second, again} {
			a := b.wants(want)
			b.idle()
			b.end(a)
		}
	})
}

func TestRunsMadeFromOthersKeepTheirLocks(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		q := playbook()
		q.Locks, q.ExclusiveHosts, q.LimitHosts = []string{"x"}, true, []string{"a"}
		first := b.submit(q)
		a := b.wants(first)
		b.begin(a)
		b.finish(a, runs.Ending{Status: runs.Failed, Touched: 1, Counts: runs.HostCounts{runs.HostFailed: 1},
			Hosts: []runs.HostSummary{{Host: "a", Failed: 1, Worst: runs.HostFailed}}})
		steps := []runs.StepSpec{{Name: "s", Tool: "bash", Command: "true"}}
		p, _, err := b.Submitter.SubmitPipeline(t.Context(), runs.PipelineSubmission{Steps: steps, Locks: []string{"x"},
			ExclusiveHosts: true})
		if err != nil {
			t.Fatal(err)
		}
		for what, made := range map[string]*runs.Run{
			"rerun":             must[*runs.Run](t)(b.Controller.Rerun(t.Context(), first.ID)),
			"relaunch":          must[*runs.Run](t)(b.Controller.RelaunchFailed(t.Context(), first.ID)),
			"pipeline":          p,
			"rerun of pipeline": must[*runs.Run](t)(b.Controller.Rerun(t.Context(), p.ID)),
		} {
			if !made.Spec.ExclusiveHosts || !slices.Equal(made.Spec.Locks, []string{"x"}) {
				t.Errorf("%s has %v, %t", what, made.Spec.Locks, made.Spec.ExclusiveHosts)
			}
		}
	})
}

func playbook() runs.Submission {
	return runs.Submission{Spec: runs.Spec{Tool: runs.Ansible, Playbook: "site.yml", Inventory: "hosts"}}
}

// TestASplitTakesItsSlotsOnce divides a split, whose shards need none.
func TestASplitTakesItsSlotsOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		q := playbook()
		q.Locks, q.ExclusiveHosts, q.Shards = []string{"x"}, true, 2
		split, next := b.submit(q), b.submit(locked("x"))
		a := b.wants(split)
		b.idle()
		if err := b.Worklist.Divide(t.Context(), a.Lease, []string{"a", "b"}, nil); err != nil {
			t.Fatal(err)
		}
		one, two := b.claim(), b.claim()
		if one.Run.Spec.Locks != nil || one.Run.Spec.ExclusiveHosts {
			t.Errorf("a shard has %+v", one.Run.Spec)
		}
		b.idle()
		b.end(one)
		b.idle()
		b.end(two)
		b.status(split.ID, runs.Succeeded)
		b.end(b.wants(next))
	})
}

func TestPipelinesCountOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		q := runs.PipelineSubmission{TemplateID: template, Locks: []string{"x"}, Steps: []runs.StepSpec{
			{Name: "one", Tool: "bash", Command: "true"}, {Name: "two", Tool: "bash", Command: "true", RequireApproval: true}}}
		b.limit(runs.TemplateSlot+template, 1)
		first, _, err := b.Submitter.SubmitPipeline(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		second, _, err := b.Submitter.SubmitPipeline(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		a := b.claim()
		if a.Run.ParentID != first.ID {
			t.Fatalf("claimed a step of %s", a.Run.ParentID)
		}
		b.idle()
		why := must[*runs.Explanation](t)(b.Insight.Why(t.Context(), second.ID))
		if len(why.Reasons) < 2 || why.Reasons[0].Code != "locked" || why.Reasons[1].Code != "busy_template" ||
			why.Reasons[0].Object != first.ID {
			t.Errorf("the pipeline: %+v", why.Reasons)
		}
		step := b.get(second.ID).Graph.Steps[0].RunID
		why = must[*runs.Explanation](t)(b.Insight.Why(t.Context(), step))
		if len(why.Reasons) != 2 || why.Reasons[0].Code != "locked" || why.Reasons[0].Object != first.ID {
			t.Errorf("its step: %+v", why.Reasons)
		}
		b.end(a)
		b.idle() // the second step is held, and the pipeline has its slots
		must[*runs.Run](t)(b.Controller.Cancel(t.Context(), first.ID))
		if a := b.claim(); a.Run.ParentID != second.ID {
			t.Errorf("claimed %+v", a.Run)
		}
	})
}

func TestExclusiveHosts(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		on := func(hosts ...string) *runs.Run {
			q := playbook()
			q.ExclusiveHosts, q.LimitHosts = true, hosts
			return b.submit(q)
		}
		one, two, unknown, four := on("a", "b"), on("b"), on(), on("c")
		a := b.wants(one)
		b.idle() // the fourth one waits behind the unknown one
		why := must[*runs.Explanation](t)(b.Insight.Why(t.Context(), two.ID))
		if len(why.Reasons) != 1 || why.Reasons[0].Code != "hosts_busy" || why.Reasons[0].Object != one.ID ||
			!strings.Contains(why.Reasons[0].Next, "this one is next") {
			t.Errorf("%+v", why.Reasons)
		}
		b.end(a)
		b.end(b.wants(two))
		a = b.wants(unknown)
		b.idle()
		b.end(a)
		b.end(b.wants(four))
	})
}

// TestEndsWakeOthers ends runs in each way, and has the next one claimed.
func TestEndsWakeOthers(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		wake, stop := b.d.Signals().Watch("queue")
		defer stop()
		ends := map[string]func(*runs.Assignment){
			"finished": func(a *runs.Assignment) { b.end(a) },
			"cancelled": func(a *runs.Assignment) {
				must[*runs.Run](t)(b.Controller.Cancel(t.Context(), a.Run.ID))
				if err := b.Worklist.Release(t.Context(), a.Lease); err != nil {
					t.Fatal(err)
				}
			},
		}
		for what, end := range ends {
			b.submit(locked("x"))
			a := b.claim()
			next := b.submit(locked("x"))
			b.idle()
			for len(wake) > 0 {
				<-wake
			}
			end(a)
			if len(wake) == 0 {
				t.Errorf("%s: no executor was told", what)
			}
			b.end(b.wants(next))
		}
	})
}

func TestLimitsAreSetAndRead(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		first, second := b.submit(script()), b.submit(script())
		a := b.wants(first)
		b.limit("queue:default", 1)
		b.idle()
		why := must[*runs.Explanation](t)(b.Insight.Why(t.Context(), second.ID))
		if len(why.Reasons) != 1 || why.Reasons[0].Code != "busy_queue" || why.Reasons[0].Object != first.ID {
			t.Errorf("%+v", why.Reasons)
		}
		b.limit("queue:default", 2)
		c := b.wants(second)
		b.end(a)
		b.end(c)
		got, err := b.Limits.Limits(t.Context(), "queue:default", "queue:other")
		if err != nil || len(got) != 1 || got["queue:default"] != 2 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// TestFreeSlotsAreFound deletes the slots of a run behind the back of the module, as if its end had missed the rows of
// those that wait.
func TestFreeSlotsAreFound(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		a := b.wants(b.submit(locked("x")))
		next := b.submit(locked("x"))
		b.idle()
		err := b.d.Do(t.Context(), func(ctx context.Context) error {
			q, err := b.d.Write(ctx)
			if err == nil {
				_, err = q.ExecContext(ctx, "DELETE FROM run_slots WHERE run_seq = ?", a.Run.Seq)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		b.idle()
		b.Background.Start()
		b.limit("queue:other", 1) // which starts a search
		b.eventually("the next run is woken", func() bool {
			a := must[*runs.Assignment](t)(b.Worklist.Claim(t.Context(), runs.ClaimRequest{Worker: "w1"}))
			return a != nil && a.Run.ID == next.ID
		})
		if err := b.Background.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestOnlyReadableRunsAreNamed explains a run to a caller who may not read the one that it waits for.
func TestOnlyReadableRunsAreNamed(t *testing.T) {
	eachLedger(t, func(t *testing.T, b *bundle, l *ledger) {
		q := locked("x")
		q.Queue = "apart"
		first := b.submit(q)
		a, err := b.Worklist.Claim(t.Context(), runs.ClaimRequest{Worker: "w1", Queues: []string{"apart"}})
		if err != nil || a == nil {
			t.Fatal(a, err)
		}
		second := b.submit(locked("x"))
		b.idle()
		l.must(t, access.Queue("apart"), nil)
		for who, object := range map[string]string{"": first.ID, "ada": ""} {
			why := must[*runs.Explanation](t)(b.Insight.Why(as(t, who), second.ID))
			if len(why.Reasons) != 1 || why.Reasons[0].Code != "locked" || why.Reasons[0].Object != object ||
				object == "" && strings.Contains(why.Reasons[0].Text+why.Reasons[0].Next, first.ID) {
				t.Errorf("%q: %+v", who, why.Reasons)
			}
		}
	})
}
