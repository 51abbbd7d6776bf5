package runs_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	module "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

var (
	noHosts     = runs.Warning{Code: runs.WarnNoHostsMatched, Message: "no host was touched"}
	unreachable = runs.Warning{Code: runs.WarnHostsUnreachable, Message: "2 hosts could not be reached"}
	flood       = runs.Warning{Code: runs.WarnOutputFlood, Message: "many events"}
)

func failing(on ...string) runs.Submission {
	return runs.Submission{Spec: runs.Spec{Playbook: "site.yml", FailOn: on}}
}

// TestFailOn ends runs with warnings. Only a success changes.
func TestFailOn(t *testing.T) {
	all := []string{"warnings", "no_hosts", "unreachable"}
	cases := []struct {
		on       []string
		as       runs.Status
		warnings []runs.Warning
		want     runs.Status
		reason   string
	}{
		{nil, runs.Succeeded, []runs.Warning{noHosts, unreachable, flood}, runs.Succeeded, ""},
		{all, runs.Succeeded, nil, runs.Succeeded, ""},
		{[]string{"no_hosts"}, runs.Succeeded, []runs.Warning{noHosts}, runs.Failed,
			"fail_on: no_hosts: no host was touched"},
		{[]string{"no_hosts", "unreachable"}, runs.Succeeded, []runs.Warning{flood}, runs.Succeeded, ""},
		{[]string{"no_hosts", "unreachable"}, runs.Succeeded, []runs.Warning{flood, unreachable}, runs.Failed,
			"fail_on: unreachable: 2 hosts could not be reached"},
		{[]string{"warnings"}, runs.Succeeded, []runs.Warning{flood}, runs.Failed, "fail_on: warnings: many events"},
		{all, runs.Canceled, []runs.Warning{noHosts}, runs.Canceled, ""},
		{all, runs.Interrupted, []runs.Warning{noHosts}, runs.Interrupted, ""},
	}
	eachEngine(t, func(t *testing.T, b *bundle) {
		for _, c := range cases {
			r := b.submit(failing(c.on...))
			a := b.claim()
			b.begin(a)
			e := runs.Ending{Status: c.as, Warnings: c.warnings}
			b.finish(a, e)
			b.finish(a, e) // the answer to the first call was lost
			got := b.status(r.ID, c.want)
			if diff := cmp.Diff(c.warnings, got.Warnings); diff != "" || got.Error != c.reason {
				t.Errorf("%v: %q %s", c.on, got.Error, diff)
			}
			if diff := cmp.Diff(c.on, got.Spec.FailOn); diff != "" {
				t.Error(diff)
			}
			if ends := b.heard.finished(r.ID); len(ends) != 1 || ends[0].Status != c.want {
				t.Errorf("published %+v", ends)
			}
			events := must[*runs.EventPage](t)(b.Reader.Events(t.Context(), r.ID, 0, 10)).Events
			if last := events[len(events)-1]; last.To != c.want {
				t.Errorf("%v: the last event leads to %s", c.on, last.To)
			}
		}
	})
}

// TestFailOnOfStoredWarnings ends runs whose warnings were stored before the end, by the server that did not claim them
// too.
func TestFailOnOfStoredWarnings(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		other := setup(t, b.d, module.Config{})
		for _, by := range []*bundle{b, other} {
			r := b.submit(failing("warnings"))
			a := b.claim()
			b.begin(a)
			err := b.d.Do(t.Context(), func(ctx context.Context) error {
				return b.store.Amend(ctx, r.ID, runs.Amendment{Warnings: []runs.Warning{flood}})
			})
			if err != nil {
				t.Fatal(err)
			}
			by.finish(a, runs.Ending{Status: runs.Succeeded})
			if got := b.status(r.ID, runs.Failed); got.Error != "fail_on: warnings: many events" {
				t.Errorf("%q", got.Error)
			}
		}
	})
}

// TestFailOnOfASplit leaves the decision to the split: it touched no host if none of its shards did.
func TestFailOnOfASplit(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		s := splitOf(2)
		s.Spec.FailOn = []string{"no_hosts", "unreachable"}
		split := func(hosts ...string) (*runs.Run, *runs.Assignment) {
			r, a := b.submit(s), b.claim()
			if err := b.Worklist.Divide(t.Context(), a.Lease, hosts, nil); err != nil {
				t.Fatal(err)
			}
			return r, a
		}
		check := func(id string, want runs.Status, reason string, warnings ...runs.Warning) {
			t.Helper()
			for _, shard := range b.children(id) {
				if shard.Status != runs.Succeeded || shard.Spec.FailOn != nil {
					t.Errorf("a shard is %s and fails on %v", shard.Status, shard.Spec.FailOn)
				}
			}
			got := b.status(id, want)
			if diff := cmp.Diff(warnings, got.Warnings); diff != "" || got.Error != reason {
				t.Errorf("%q %s", got.Error, diff)
			}
		}
		idle := runs.Ending{Status: runs.Succeeded, Warnings: []runs.Warning{noHosts}}
		busy := runs.Ending{Status: runs.Succeeded, Touched: 1, Counts: runs.HostCounts{runs.HostOK: 1}}

		r, _ := split("a", "b")
		b.finish(b.claim(), idle)
		b.finish(b.claim(), idle)
		check(r.ID, runs.Failed, "fail_on: no_hosts: no host was touched", noHosts)
		again := must[*runs.Run](t)(b.Controller.Rerun(t.Context(), r.ID))
		if !slices.Equal(again.Spec.FailOn, s.Spec.FailOn) {
			t.Errorf("the rerun fails on %v", again.Spec.FailOn)
		}
		must[*runs.Run](t)(b.Controller.Cancel(t.Context(), again.ID))

		r, _ = split("a", "b")
		b.finish(b.claim(), idle)
		b.finish(b.claim(), busy)
		check(r.ID, runs.Succeeded, "")

		r, _ = split("a", "b")
		b.finish(b.claim(), busy)
		busy.Warnings = []runs.Warning{unreachable}
		b.finish(b.claim(), busy)
		check(r.ID, runs.Failed, "fail_on: unreachable: 2 hosts could not be reached", unreachable)

		none, a := split()
		got := b.status(none.ID, runs.Failed)
		if got.Error != "fail_on: no_hosts: no host matched, so nothing was done" {
			t.Errorf("%q", got.Error)
		}
		if err := b.Worklist.Divide(t.Context(), a.Lease, nil, nil); !runs.LeaseLost.Is(err) {
			t.Errorf("again: %v", err)
		}
	})
}

// TestFailOnOfShardsThatFinishAtOnce ends all shards at once: the split fails once, and has their warning once.
func TestFailOnOfShardsThatFinishAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		s := splitOf(4)
		s.Spec.FailOn = []string{"unreachable"}
		for range 10 {
			r, a := b.submit(s), b.claim()
			if err := b.Worklist.Divide(t.Context(), a.Lease, []string{"a", "b", "c", "d"}, nil); err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for i := range 4 {
				e := runs.Ending{Status: runs.Succeeded, Touched: 1}
				if i%2 == 0 {
					e.Warnings = []runs.Warning{unreachable}
				}
				shard := b.claim()
				wg.Go(func() {
					if err := b.Worklist.Finish(t.Context(), shard.Lease, e); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			got := b.status(r.ID, runs.Failed)
			if n := len(b.heard.finished(r.ID)); n != 1 || len(got.Warnings) != 1 {
				t.Fatalf("ended %d times, with %v", n, got.Warnings)
			}
		}
	})
}

// TestFailOnOfRepeats retries and relaunches runs that failed.
func TestFailOnOfRepeats(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		s := splitOf(2)
		s.Spec.FailOn = []string{"unreachable"}
		r, a := b.submit(s), b.claim()
		if err := b.Worklist.Divide(t.Context(), a.Lease, []string{"a", "b"}, nil); err != nil {
			t.Fatal(err)
		}
		b.endShard(b.claim(), runs.Failed, runs.HostUnreachable)
		b.endShard(b.claim(), runs.Succeeded, runs.HostUnreachable)
		b.status(r.ID, runs.Failed)
		for _, again := range []func(context.Context, string) (*runs.Run, error){
			b.Controller.Retry, b.Controller.RelaunchFailed,
		} {
			made := must[*runs.Run](t)(again(t.Context(), r.ID))
			if !slices.Equal(made.Spec.FailOn, s.Spec.FailOn) {
				t.Errorf("the %s fails on %v", made.Origin.Source, made.Spec.FailOn)
			}
		}
	})
}

// TestFailOnOfAPipeline gives the pipeline's list to steps that have none, and applies it to the pipeline's own
// warnings.
func TestFailOnOfAPipeline(t *testing.T) {
	play := func(name string, on []string) runs.StepSpec {
		return runs.StepSpec{Name: name, Playbook: "site.yml", FailOn: on}
	}
	eachEngine(t, func(t *testing.T, b *bundle) {
		p := b.pipeline(runs.PipelineSubmission{FailOn: []string{"no_hosts"}, Steps: []runs.StepSpec{
			play("free", []string{}), play("own", []string{"unreachable"}), play("inherits", nil), play("never", nil),
		}})
		for range 3 {
			b.finish(b.claim(), runs.Ending{Status: runs.Succeeded, Warnings: []runs.Warning{noHosts}})
		}
		got := b.status(p.ID, runs.Failed)
		var states []runs.Status
		for _, s := range got.Graph.Steps {
			states = append(states, s.Status)
		}
		want := []runs.Status{runs.Succeeded, runs.Succeeded, runs.Failed, runs.Skipped}
		if diff := cmp.Diff(want, states); diff != "" || got.Error != `step "inherits" failed` {
			t.Errorf("%q %s", got.Error, diff)
		}
		if again := must[*runs.Run](t)(b.Controller.Rerun(t.Context(), p.ID)); !slices.Equal(again.Spec.FailOn,
			[]string{"no_hosts"}) || again.Graph.Steps[0].FailOn == nil {
			t.Errorf("the rerun fails on %v, its first step on %v", again.Spec.FailOn, again.Graph.Steps[0].FailOn)
		}
		b.run(runs.Canceled)

		soft := stage("soft")
		soft.ContinueOnFailure = true
		p = b.pipeline(runs.PipelineSubmission{FailOn: []string{"warnings"}, Steps: []runs.StepSpec{soft}})
		b.run(runs.Failed)
		const reason = `fail_on: warnings: step "soft" failed and the pipeline continued`
		if got := b.status(p.ID, runs.Failed); got.Error != reason {
			t.Errorf("%q", got.Error)
		}
	})
}

// TestFailOnIsChecked submits names that are unknown or repeated.
func TestFailOnIsChecked(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		named := func(want string, err error) {
			t.Helper()
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Location != want {
				t.Errorf("%s: %v", want, err)
			}
		}
		named("fail_on[0]", b.Checker.Check(t.Context(), failing("hosts")))
		named("fail_on[1]", b.Checker.Check(t.Context(), failing("no_hosts", "no_hosts")))
		p := runs.PipelineSubmission{Steps: []runs.StepSpec{stage("a")}, FailOn: []string{"No_Hosts"}}
		named("fail_on[0]", b.Checker.CheckPipeline(t.Context(), p))
		p.FailOn, p.Steps[0].FailOn = nil, []string{"warnings", "unreachable", "warnings"}
		named("steps[0].fail_on[2]", b.Checker.CheckPipeline(t.Context(), p))
		if r := b.submit(failing([]string{}...)); r.Spec.FailOn != nil {
			t.Errorf("an empty list is kept: %v", r.Spec.FailOn)
		}
	})
}
