package runs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	module "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/waittest"
)

// policies says what a test sets.
type policies struct {
	mu      sync.Mutex
	verdict policy.Verdict
	fails   []error          // of the next evaluations
	exempt  bool             // dry runs
	hosts   []policy.Targets // of the last evaluation
}

func (p *policies) Evaluate(_ context.Context, r *runs.Run, t []policy.Targets) (policy.Verdict, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts = t
	if p.exempt && r != nil && r.Spec.DryRun {
		return policy.Verdict{}, nil
	}
	if len(p.fails) > 0 {
		err := p.fails[0]
		p.fails = p.fails[1:]
		return policy.Verdict{}, err
	}
	return p.verdict, nil
}

func (p *policies) reached() []policy.Targets {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hosts
}

func (p *policies) Preview(ctx context.Context, r *runs.Run, t []policy.Targets) (policy.Verdict, error) {
	return p.Evaluate(ctx, r, t)
}

func (p *policies) Timing(context.Context, *runs.Run, []policy.Targets) (policy.Timing, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.verdict.Timing, nil
}

// Recheck fails as the next evaluation does.
func (p *policies) Recheck(ctx context.Context, _ policy.Timing) error {
	_, err := p.Evaluate(ctx, nil, nil)
	return err
}

func (p *policies) Windows(context.Context) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.verdict.Timing.Version, nil
}

func (p *policies) say(v policy.Verdict, fails ...error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.verdict, p.fails = v, fails
}

// teams are the teams of accounts.
type teams struct {
	identity.TeamStore
	of map[string][]string
}

func (t teams) TeamsOf(_ context.Context, user string) (out []identity.Team, err error) {
	for _, id := range t.of[user] {
		out = append(out, identity.Team{ID: id})
	}
	return out, nil
}

// admin returns a context of an administrator, with the actor of ctx if it has one.
func admin(ctx context.Context) context.Context {
	return identity.With(ctx, identity.Principal{User: identity.User{ID: "root", Role: identity.Admin}})
}

// account returns the context of an account.
func account(ctx context.Context, id string, role identity.Role) context.Context {
	ctx = actor.With(ctx, actor.Actor{Type: actor.User, ID: id, Name: id})
	return identity.With(ctx, identity.Principal{User: identity.User{ID: id, Username: id, Role: role}})
}

func hold(h ...runs.Hold) policy.Verdict {
	return policy.Verdict{Holds: h, Risk: runs.Risk{Level: runs.HighRisk, Reasons: []string{"why"}}}
}

// TestApprovalsOfSeveralPolicies checks that each hold counts the approvals of its own approvers.
func TestApprovalsOfSeveralPolicies(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		b.policies.say(hold(
			runs.Hold{ID: "pol_1", Name: "four eyes", Needed: 2, Distinct: true},
			runs.Hold{ID: "pol_2", Name: "network", Needed: 1, Teams: []string{"team_1"}}))
		r, _, err := b.Submitter.Submit(account(ctx, "ann", identity.Admin), script())
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runs.PendingApproval || r.HeldBy().ID != "pol_1" || r.Risk.Level != runs.HighRisk {
			t.Fatalf("%s, held by %+v, risk %+v", r.Status, r.HeldBy(), r.Risk)
		}
		b.idle()
		approve := func(id string, role identity.Role) error {
			_, err := b.Approver.Approve(account(ctx, id, role), r.ID, runs.DecisionInput{Reason: "reason of " + id})
			return err
		}
		for _, x := range []struct {
			id   string
			role identity.Role
			want func(error) bool
		}{
			{"ann", identity.Admin, runs.DistinctApprover.Is},
			{"oto", identity.Operator, access.NotAllowed.Is},
			{"bob", identity.Admin, isNil},
			{"bob", identity.Admin, runs.AlreadyApproved.Is},
			{"eve", identity.Operator, isNil}, // of the team, no administrator
			{"dan", identity.Operator, isNil},
		} {
			err := approve(x.id, x.role)
			if !x.want(err) {
				t.Errorf("%s approves: %v", x.id, err)
			}
			if err != nil {
				explained(t, err)
			}
			b.status(r.ID, runs.PendingApproval)
		}
		_, err = b.Approver.Reject(account(ctx, "ann", identity.Admin), r.ID, runs.DecisionInput{})
		if !runs.DistinctApprover.Is(err) {
			t.Errorf("the account that asked rejects: %v", err)
		}
		if err := approve("cid", identity.Admin); err != nil {
			t.Fatal(err)
		}
		got := b.get(r.ID)
		if a := got.Approvals; got.Status != runs.Pending || a.Needed() != 2 || len(a.Given) != 4 ||
			a.Given[0].By.Name != "bob" || a.Given[0].Reason != "reason of bob" || a.For(0) != 2 || a.For(1) != 2 {
			t.Errorf("%s, %+v", got.Status, got.Approvals)
		}
		b.happened(r.ID, audit.RunSubmit, audit.RunHold, audit.RunHold, audit.RunApprove, audit.RunApprove,
			audit.RunApprove, audit.RunApprove)
	})
}

// TestOwnersAsk has a schedule ask for a run with the rights of an account, which then counts as who asked: also for
// the run that applies the plan of such a dry run.
func TestOwnersAsk(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.policies.exempt = true
		b.policies.say(hold(runs.Hold{ID: "pol_1", Name: "four eyes", Needed: 1, Distinct: true}))
		ann := account(t.Context(), "ann", identity.Admin)
		nightly := actor.With(ann, actor.Actor{Type: actor.System, ID: "sch_1", Name: "nightly"})
		submit := func(s runs.Submission) *runs.Run {
			s.Origin = runs.Origin{Source: runs.FromSchedule, SourceID: "sch_1"}
			r, _, err := b.Submitter.Submit(nightly, s)
			return must[*runs.Run](t)(r, err)
		}
		held, dry := submit(script()), script()
		dry.DryRun = true
		submit(dry)
		a := b.claim()
		b.begin(a)
		for _, id := range []string{held.ID, b.propose(a, planned("1"))} {
			if r := b.status(id, runs.PendingApproval); r.Actor.ID != "sch_1" || r.Requester().ID != "ann" {
				t.Errorf("%+v asked, for %+v", r.Actor, r.Requester())
			}
		}
		for _, decide := range []func(context.Context, string, runs.DecisionInput) (*runs.Run, error){
			b.Approver.Approve, b.Approver.Reject,
		} {
			_, err := decide(ann, held.ID, runs.DecisionInput{})
			if !runs.DistinctApprover.Is(err) || !strings.HasPrefix(err.Error(), `"nightly", which acts for you, asked`) {
				t.Errorf("the owner decides: %v", err)
			}
		}
		next := b.why(held.ID).Next
		if next != "an administrator, but not the owner of nightly, approves or rejects the run" {
			t.Errorf("%s", next)
		}
		must[*runs.Run](t)(b.Approver.Approve(account(t.Context(), "bob", identity.Admin), held.ID, runs.DecisionInput{}))
	})
}

// explained checks that a refusal says what has to happen next.
func explained(t *testing.T, err error) {
	t.Helper()
	list := runs.ReasonsOf(err)
	if len(list) == 0 || list[0].Code == "" || list[0].Text == "" || list[0].Next == "" {
		t.Errorf("the reasons of %v: %+v", err, list)
	}
}

func isNil(err error) bool { return err == nil }

// TestTheLastTwoApproversRace checks that of two approvers, of whom one more is needed, one releases the run.
//
// Keeps T35.
func TestTheLastTwoApproversRace(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.policies.say(hold(runs.Hold{ID: "pol_1", Name: "one", Needed: 1}))
		for range depthtest.Of(10, 100) {
			r := b.submit(script())
			one, two := both(
				func() error {
					_, err := b.Approver.Approve(account(t.Context(), "bob", identity.Admin), r.ID, runs.DecisionInput{})
					return err
				},
				func() error {
					_, err := b.Approver.Approve(account(t.Context(), "cid", identity.Admin), r.ID, runs.DecisionInput{})
					return err
				},
			)
			got := b.get(r.ID)
			if (one == nil) == (two == nil) || !runs.RunNotHeld.Is(errors.Join(one, two)) ||
				got.Status != runs.Pending || len(got.Approvals.Given) != 1 {
				t.Fatalf("%v, %v, %s, %+v", one, two, got.Status, got.Approvals)
			}
		}
	})
}

// TestApproveRacesCancel checks that a run which is cancelled and approved at once is either pending or cancelled.
//
// Keeps T35.
func TestApproveRacesCancel(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.policies.say(hold(runs.Hold{ID: "pol_1", Name: "one", Needed: 1}))
		for range depthtest.Of(10, 100) {
			r := b.submit(script())
			yes, no := both(
				func() error {
					_, err := b.Approver.Approve(admin(t.Context()), r.ID, runs.DecisionInput{Reason: ""})
					return err
				},
				func() error { _, err := b.Controller.Cancel(t.Context(), r.ID); return err },
			)
			got := b.get(r.ID)
			if no != nil || got.Status != runs.Canceled || yes != nil && !runs.RunNotHeld.Is(yes) {
				t.Fatalf("approve: %v, cancel: %v, the run is %s", yes, no, got.Status)
			}
		}
	})
}

// TestDeniedRuns checks that a denied request makes no run, takes no key and leaves one entry.
func TestDeniedRuns(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		s := script()
		s.Idempotency = &runs.Idempotency{Key: "k", Scope: "submit"}
		b.policies.say(policy.Verdict{Denied: &policy.Rule{ID: "pol_9", Name: "freeze", Message: "until Monday"}})
		n := b.trail.size()
		_, _, err := b.Submitter.Submit(t.Context(), s)
		if !policy.Denied.Is(err) || err.Error() != `the policy "freeze" denies the run: until Monday` {
			t.Fatalf("%v", err)
		}
		entries := b.trail.since(n)
		if len(entries) != 1 || entries[0].Action != audit.RunSubmit || entries[0].Outcome != audit.Denied ||
			entries[0].Object.ID != "pol_9" || entries[0].Detail["policy"] != "freeze" {
			t.Errorf("%+v", entries)
		}
		list, err := b.Reader.List(t.Context(), runs.Filter{Limit: 1})
		if err != nil || len(list.Runs) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
		b.policies.say(policy.Verdict{})
		if _, replayed, err := b.Submitter.Submit(t.Context(), s); err != nil || replayed {
			t.Errorf("the key of a denied request: replayed %v, %v", replayed, err)
		}
	})
}

// TestPoliciesThatChange checks that a request is evaluated again, and not for ever.
func TestPoliciesThatChange(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		changed := policy.PoliciesChanged.New("the policies changed")
		b.policies.say(hold(runs.Hold{Name: "one", Needed: 1}), changed, changed)
		if r := b.submit(script()); r.Status != runs.PendingApproval {
			t.Errorf("%s", r.Status)
		}
		b.policies.say(policy.Verdict{}, changed, changed, changed, changed, changed)
		if _, _, err := b.Submitter.Submit(t.Context(), script()); !policy.PoliciesChanged.Is(err) {
			t.Errorf("%v", err)
		}
	})
}

// TestWhatIsApprovedIsWhatRuns checks that a decision is about what the run would execute now, that a change voids what
// was approved before, and that the run carries what was approved.
//
// Keeps T35.
func TestWhatIsApprovedIsWhatRuns(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, _ *ledger, s *fakeReferences) {
		set := func(content string, version int64) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.content, s.version = content, version
		}
		set("first", 1)
		b.policies.say(hold(runs.Hold{ID: "pol_1", Name: "two", Needed: 2}))
		x := over(keyInventory)
		r := b.submit(x)
		look := func() *runs.Approvals { return b.get(r.ID).Approvals }
		old := look().Current.Digest()
		decide := func(who, digest string) error {
			_, err := b.Approver.Approve(account(t.Context(), who, identity.Admin), r.ID, runs.DecisionInput{Digest: digest})
			return err
		}
		if err := decide("bob", ""); err != nil {
			t.Fatal(err)
		}
		set("second", 2)
		now := look()
		if got := now.Parts.Changed(now.Current); !slices.Equal(got, []string{"credential", "inventory"}) {
			t.Errorf("changed %v", got)
		}
		for _, digest := range []string{"", old, "another"} {
			if err := decide("cid", digest); !runs.ApprovalStale.Is(err) {
				t.Errorf("approve of %q: %v", digest, err)
			}
			_, err := b.Approver.Reject(admin(t.Context()), r.ID, runs.DecisionInput{Digest: digest})
			if !runs.ApprovalStale.Is(err) {
				t.Errorf("reject of %q: %v", digest, err)
			}
		}
		for _, who := range []string{"cid", "bob"} { // what bob approved before is void
			b.status(r.ID, runs.PendingApproval)
			if err := decide(who, now.Current.Digest()); err != nil {
				t.Fatal(err)
			}
		}
		got := b.get(r.ID)
		a := got.Approvals
		if got.Status != runs.Pending || len(a.Given) != 2 || a.Confirm("inventory", keyInventory, "second") != nil ||
			!runs.ApprovalStale.Is(a.Confirm("inventory", keyInventory, "third")) ||
			a.Confirm("credential", keyA, "2") != nil || !runs.ApprovalStale.Is(a.Confirm("credential", keyB, "2")) {
			t.Errorf("%s, %+v", got.Status, a)
		}
	})
}

// TestHeldRunsExpire checks that a run which nobody approves in time is rejected with that reason, once.
func TestHeldRunsExpire(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		b := setup(t, d, module.Config{ApprovalTTL: time.Millisecond})
		free := b.submit(script())
		b.policies.say(hold(runs.Hold{ID: "pol_1", Name: "one", Needed: 1}))
		r := b.submit(script())
		b.Background.Start()
		waittest.Eventually(t, 30*time.Second, "the run to expire",
			func() bool { return b.get(r.ID).Status == runs.Rejected })
		// The recorder of these tests gets the entries after the commit, which the pass waits for.
		if err := b.Background.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		got := b.get(r.ID).Decision
		if got.Verdict != runs.RejectedByRule || got.Reason != "nobody approved the run within 1ms" ||
			got.By.Type != actor.System {
			t.Errorf("%+v", got)
		}
		b.status(free.ID, runs.Pending)
		b.happened(r.ID, audit.RunSubmit, audit.RunHold, audit.RunReject, audit.RunFinal)
	})
}
