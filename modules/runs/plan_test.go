package runs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	module "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// planning submits a dry run of a script as an account and begins it.
func (b *bundle) planning(by string, edit ...func(*runs.Submission)) *runs.Assignment {
	b.t.Helper()
	s := script()
	s.DryRun, s.Name, s.Labels, s.Change = true, "plan", map[string]string{"a": "b"}, "CHG-1"
	for _, fn := range edit {
		fn(&s)
	}
	if _, _, err := b.Submitter.Submit(account(b.t.Context(), by, identity.Operator), s); err != nil {
		b.t.Fatal(err)
	}
	a := b.claim()
	b.begin(a)
	return a
}

func planned(digest string) runs.Plan {
	return runs.Plan{Summary: "1 to change", Digest: digest,
		Findings: []runs.PlanFinding{{Resource: "terraform_data.web", Action: "update", Diff: "- 1\n+ 2"}}}
}

// propose reports a plan of a dry run and ends the dry run.
func (b *bundle) propose(a *runs.Assignment, p runs.Plan) string {
	b.t.Helper()
	id, err := b.Planner.ProposeApply(b.t.Context(), a.Lease, p)
	if err != nil {
		b.t.Fatal(err)
	}
	b.finish(a, runs.Ending{Status: runs.Succeeded})
	return id
}

// TestPlan makes a held run of the plan of a dry run, which is bound to the digest.
func TestPlan(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.policies.exempt = true
		b.policies.say(policy.Verdict{})
		a := b.planning("ann")
		id := b.propose(a, planned("sha256:1"))
		r := b.status(id, runs.PendingApproval)
		if r.Spec.DryRun || r.Spec.PlanDigest != "sha256:1" || r.Spec.Command != "true" || r.Actor.ID != "ann" ||
			r.Name != "plan" || r.Change != "CHG-1" || r.Labels["a"] != "b" ||
			r.Origin != (runs.Origin{Source: runs.FromPlan, SourceID: a.Run.ID}) {
			t.Errorf("%+v", r)
		}
		if n := b.trail.count(id, audit.RunPlan); n != 1 {
			t.Errorf("%d entries", n)
		}
		for run, want := range map[string]string{a.Run.ID: "", id: a.Run.ID} {
			p := must[*runs.StoredPlan](t)(b.Plans.Plan(t.Context(), run))
			if p.Digest != "sha256:1" || p.ApplyID != id || p.PlannedBy != want || len(p.Findings) != 1 {
				t.Errorf("the plan of %s is %+v", run, p)
			}
		}
		bob := account(t.Context(), "bob", identity.Admin)
		must[*runs.Run](t)(b.Approver.Approve(bob, id, runs.DecisionInput{Digest: r.Approvals.Current.Digest()}))
		run := b.claim()
		if run.Run.ID != id || run.Run.Spec.PlanDigest != "sha256:1" {
			t.Errorf("claimed %+v", run.Run)
		}
		b.begin(run)
		b.finish(run, runs.Ending{Status: runs.Succeeded})

		again := must[*runs.Run](t)(b.Controller.Rerun(bob, id))
		if again.Status != runs.PendingApproval || again.Spec.PlanDigest != "sha256:1" {
			t.Errorf("a rerun of it is %+v", again)
		}
		b.repeats(again.ID, a.Run.ID)
		look, _, err := b.Controller.Preview(bob, again.ID)
		if err != nil || look.Spec.PlanDigest != "" || !look.Spec.DryRun {
			t.Errorf("a preview of it is %+v, %v", look, err)
		}
		s := script()
		s.PlanDigest = "sha256:1"
		if r := b.submit(s); r.Spec.PlanDigest != "" || r.Status != runs.Pending {
			t.Errorf("a request set the digest: %+v", r)
		}
		_, err = b.Plans.Plan(t.Context(), look.ID)
		txtest.WantFault(t, err, runs.PlanNotFound)
		_, err = b.Plans.Plan(t.Context(), "run_none")
		txtest.WantFault(t, err, runs.RunNotFound)
	})
}

// TestPlanDigestIsApproved changes nothing but the digest of a plan.
func TestPlanDigestIsApproved(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		var digests []string
		for i := range 2 {
			id := b.propose(b.planning("ann"), planned(fmt.Sprint("sha256:", i)))
			digests = append(digests, b.get(id).Approvals.Current.Digest())
		}
		if digests[0] == digests[1] {
			t.Error("an approval is not bound to the plan")
		}
	})
}

// TestPlanReplaces reports plans of one target, of which one run is held at a time.
func TestPlanReplaces(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		first := b.propose(b.planning("ann"), planned("1"))
		if again := b.propose(b.planning("bob"), planned("1")); again != first {
			t.Errorf("the same plan made %s beside %s", again, first)
		}
		vars := func(s *runs.Submission) { s.ExtraVars = runs.Vars{"a": []byte("1")} }
		other := b.propose(b.planning("ann", vars), planned("2"))
		b.status(first, runs.PendingApproval)
		second := b.propose(b.planning("ann"), planned("2"))
		old := b.status(first, runs.Rejected)
		if old.Decision == nil || !strings.Contains(old.Decision.Reason, second) {
			t.Errorf("the reason is %+v", old.Decision)
		}
		b.status(second, runs.PendingApproval)
		dry := b.planning("ann")
		if id := b.propose(dry, runs.Plan{Digest: "0", Summary: "nothing differs"}); id != "" {
			t.Errorf("a plan without findings made %s", id)
		}
		if r := b.status(second, runs.Rejected); !strings.Contains(r.Decision.Reason, dry.Run.ID) {
			t.Errorf("the reason is %+v", r.Decision)
		}
		b.status(other, runs.PendingApproval)
	})
}

// TestPlanOfAPreview looks at held runs by dry runs that find another plan: the runs stay held, and none is made.
func TestPlanOfAPreview(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		held := b.propose(b.planning("ann"), planned("1"))
		s := script()
		s.RequireApproval, s.Command = true, "false"
		plain := b.submit(s).ID
		made := func() int {
			list := must[*runs.List](t)(b.Reader.List(t.Context(), runs.Filter{Sources: []runs.Source{runs.FromPlan}}))
			return len(list.Runs)
		}
		for _, c := range []struct {
			of   string
			plan runs.Plan
			warn string
		}{
			{held, planned("1"), ""}, {held, planned("2"), "another one than the run " + held},
			{held, runs.Plan{Digest: "0", Summary: "nothing differs"}, "another one than the run " + held},
			{plain, planned("3"), ""},
		} {
			look, _, err := b.Controller.Preview(account(t.Context(), "bob", identity.Admin), c.of)
			if err != nil {
				t.Fatal(err)
			}
			a := b.claim()
			b.begin(a)
			if id := b.propose(a, c.plan); a.Run.ID != look.ID || id != "" || made() != 1 {
				t.Errorf("%s: the preview %s made %q, and there are %d", c.plan.Digest, look.ID, id, made())
			}
			b.deliver(look.ID)
			b.status(held, runs.PendingApproval)
			w := b.get(look.ID).Warnings
			if c.warn == "" && len(w) > 0 || c.warn != "" && (len(w) != 1 || !strings.Contains(w[0].Message, c.warn)) {
				t.Errorf("%s: the warnings are %+v", c.plan.Digest, w)
			}
		}
	})
}

// TestPlanRefused has plans that make no run.
func TestPlanRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		a := b.planning("ann")
		b.policies.say(policy.Verdict{Denied: &policy.Rule{ID: "pol_1", Name: "never"}})
		entries := b.trail.size()
		txtest.Together(4, func(i int) { // as the report of a plan and its event
			if id, err := b.Planner.ProposeApply(t.Context(), a.Lease, planned("1")); id != "" || err != nil {
				t.Errorf("a denied run is %q, %v", id, err)
			}
		})
		if list := b.trail.since(entries); len(list) != 1 || list[0].Action != audit.RunPlan ||
			list[0].Outcome != audit.Denied || list[0].Object.ID != "pol_1" {
			t.Errorf("the entries are %+v", list)
		}
		b.finish(a, runs.Ending{Status: runs.Succeeded})
		r := b.status(a.Run.ID, runs.Succeeded)
		if len(r.Warnings) != 1 || r.Warnings[0].Code != runs.WarnPlanNotHeld ||
			!strings.Contains(r.Warnings[0].Message, "never") {
			t.Errorf("the warnings are %+v", r.Warnings)
		}
		if p := must[*runs.StoredPlan](t)(b.Plans.Plan(t.Context(), a.Run.ID)); p.ApplyID != "" {
			t.Errorf("the plan is %+v", p)
		}
		_, err := b.Planner.ProposeApply(t.Context(), a.Lease, planned("1"))
		txtest.WantFault(t, err, runs.LeaseLost)
		_, err = b.Planner.ProposeApply(t.Context(), runs.Lease{RunID: "run_none"}, planned("1"))
		txtest.WantFault(t, err, runs.LeaseLost)
		b.policies.say(policy.Verdict{})
		a = b.planning("ann", func(s *runs.Submission) { s.DryRun = false })
		_, err = b.Planner.ProposeApply(t.Context(), a.Lease, planned("1"))
		txtest.WantFault(t, err, runs.RunNotPlanned)
		for _, text := range []string{"\x1b[2J", "\u202egnp.exe", "a\u2028b", "\u200b"} {
			bad := planned("1")
			bad.Findings[0].Diff = text
			if _, err := b.Planner.ProposeApply(t.Context(), a.Lease, bad); !fault.Is(err, fault.Invalid) {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}

// TestPlanRaces reports plans of one target and digest at once: they make one run.
func TestPlanRaces(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		const each = 2 // reports of the same dry run
		leases := make([]runs.Lease, 4)
		for i := range leases {
			leases[i] = b.planning("ann").Lease
		}
		made := make([]string, each*len(leases))
		txtest.Together(len(made), func(i int) {
			id, err := b.Planner.ProposeApply(t.Context(), leases[i/each], planned("1"))
			if made[i] = id; err != nil {
				t.Error(err)
			}
		})
		if slices.Sort(made); made[0] == "" || len(slices.Compact(made)) != 1 {
			t.Errorf("the runs are %v", made)
		}
		list := must[*runs.List](t)(b.Reader.List(t.Context(), runs.Filter{Sources: []runs.Source{runs.FromPlan}}))
		if len(list.Runs) != 1 {
			t.Errorf("%d runs are made", len(list.Runs))
		}
	})
}

// TestPlanOfAWorker makes the run for a plan that a process without requests stored.
func TestPlanOfAWorker(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		a := b.planning("ann")
		id, err := b.storing().ProposeApply(t.Context(), a.Lease, planned("1"))
		if id != "" || err != nil {
			t.Fatalf("%q, %v", id, err)
		}
		for range 2 {
			b.deliver(a.Run.ID)
		}
		p := must[*runs.StoredPlan](t)(b.Plans.Plan(t.Context(), a.Run.ID))
		b.status(p.ApplyID, runs.PendingApproval)
	})
}

// TestReconcileAPlan makes the run that applies a plan again after the first one was rejected.
func TestReconcileAPlan(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		a := b.planning("ann")
		first := b.propose(a, planned("1"))
		bob := account(t.Context(), "bob", identity.Admin)
		must[*runs.Run](t)(b.Approver.Reject(bob, first, runs.DecisionInput{Reason: "no"}))
		r, err := b.Reconciler.Reconcile(bob, a.Run.ID, runs.Reconciliation{Host: "Web", SourceID: "tgt_1", PlanDigest: "1"})
		if err != nil || r.Status != runs.PendingApproval || r.Spec.PlanDigest != "1" || r.Spec.DryRun ||
			r.Spec.LimitHosts != nil {
			t.Fatalf("%+v, %v", r, err)
		}
		b.repeats(r.ID, a.Run.ID)
		if again := b.propose(b.planning("ann"), planned("1")); again != r.ID {
			t.Errorf("the same plan made %s beside %s", again, r.ID)
		}
	})
}

// TestPlanOutdated makes no run of a plan that is older than that of a held run.
func TestPlanOutdated(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		s := b.store
		worker := b.storing()
		early := b.planning("ann")
		if _, err := worker.ProposeApply(t.Context(), early.Lease, planned("1")); err != nil {
			t.Fatal(err)
		}
		held := b.propose(b.planning("ann"), planned("2"))
		b.deliver(early.Run.ID)
		b.status(held, runs.PendingApproval)
		r, err := s.ByID(t.Context(), early.Run.ID)
		if err != nil || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Message, held) {
			t.Errorf("the warnings are %+v, %v", r.Warnings, err)
		}
	})
}

// storing is the planner of a process that makes no runs.
func (b *bundle) storing() runs.Planner {
	s := b.store
	return must[module.Work](b.t)(module.NewWork(module.WorkParams{Store: s, Queue: s, Logs: s, Events: s, Summaries: s,
		Slots: s, Plans: s, Unit: b.d, Publisher: b.heard, Signals: b.d.Signals(), Clock: clock.New(),
		IDs: ids.New(clock.New()), Recorder: b.trail})).Planner
}

// repeats checks that a run has the plan of a dry run.
func (b *bundle) repeats(id, dry string) {
	b.t.Helper()
	p := must[*runs.StoredPlan](b.t)(b.Plans.Plan(b.t.Context(), id))
	if p.PlannedBy != dry || p.ApplyID != id {
		b.t.Errorf("its plan is %+v", p)
	}
}

// deliver gives a server the event of a plan.
func (b *bundle) deliver(run string) {
	b.t.Helper()
	if err := b.Planned.Handle(b.t.Context(), events.Message{Data: []byte(`{"run_id":"` + run + `"}`)}); err != nil {
		b.t.Fatal(err)
	}
}
