package runs_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	module "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	portids "github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// fakeReferences has the inventories of a test, the credentials that each adds to runs, and all credentials. Two
// credentials of one kind conflict.
type fakeReferences struct {
	mu        sync.Mutex
	inherited map[string][]string
	kind      map[string]string // by credential; "" means no secret
	stored    map[string]string // the secret of a credential, if it matters
	content   string            // of inventories
	version   int64             // of credentials
	holds     bool              // of every template
	heldSteps []string
	steps     map[string]catalog.Step // what a template executes as a step
	sourced   bool                    // inventories have sources that are refreshed before a run
	refreshed int                     // how often they were
	fresh     func(ctx context.Context) (content string, err error)
}

func (s *fakeReferences) setContent(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content = text
}

// setHolds makes every template hold its runs, or the steps of these names.
func (s *fakeReferences) setHolds(all bool, steps ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds, s.heldSteps = all, steps
}

func (s *fakeReferences) setInherited(inventory string, list ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inherited[inventory] = list
}

func (s *fakeReferences) Exists(_ context.Context, id string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.kind[id]
	return ok, nil
}

func (s *fakeReferences) Validate(_ context.Context, list []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := map[string]bool{}
	for _, id := range list {
		switch k := s.kind[id]; {
		case k == "":
			return secrets.SecretMissing.New("the credential %s has no secret", id)
		case had[k]:
			return secrets.Clash.New("two credentials are of the kind %s", k)
		default:
			had[k] = true
		}
	}
	return nil
}

func (s *fakeReferences) Versions(_ context.Context, list []string) (map[string]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int64{}
	for _, id := range list {
		out[id] = s.version
	}
	return out, nil
}

func (s *fakeReferences) Stored(_ context.Context, list []string) (out []secret.Text, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range list {
		if text := s.stored[id]; text != "" {
			out = append(out, secret.Text(text))
		}
	}
	return out, nil
}

// fakeCatalog is the catalog of a test over fakeReferences.
type fakeCatalog struct{ *fakeReferences }

func (s fakeCatalog) Exists(_ context.Context, kind portids.Prefix, id string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.inherited[id]
	_, step := s.steps[id]
	return (ok || step) && portids.Valid(kind, id), nil
}

func (s fakeCatalog) Defaults(_ context.Context, id string) (string, []string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return "", s.inherited[id], nil
}

func (fakeCatalog) Targets(context.Context, string, string) (catalog.Targets, error) {
	return catalog.Targets{}, nil
}

func (s fakeCatalog) Hosts(context.Context, string, string) ([]string, error) { return nil, nil }

func (s fakeCatalog) Selected(context.Context, string, string) (content, hosts string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.content, "hosts", nil
}

func (s fakeCatalog) Variables(context.Context, string, ...string) (func(string) map[string]any, error) {
	return func(string) map[string]any { return nil }, nil
}

func (s fakeCatalog) RefreshesOnLaunch(context.Context, string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sourced, nil
}

func (s fakeCatalog) Holds(context.Context, string) (all bool, steps []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holds, s.heldSteps, nil
}

func (fakeCatalog) Pin(context.Context, string, bool) (commit, stale string, err error) {
	return "", "", nil
}

func oid(kind portids.Prefix, n int) string { return fmt.Sprintf("%s%026d", kind, n) }

var (
	keyA, keyB, vaultA, empty = oid(portids.Credential, 1), oid(portids.Credential, 2), oid(portids.Credential, 3),
		oid(portids.Credential, 4)
	keyInventory, other = oid(portids.Inventory, 1), oid(portids.Inventory, 2)
)

// eachReferences opens the module over each engine with rights, credentials and inventories that a test can change.
func eachReferences(t *testing.T, test func(t *testing.T, b *bundle, l *ledger, s *fakeReferences)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		l := &ledger{d: d, level: map[string]map[string]access.Level{}}
		s := &fakeReferences{inherited: map[string][]string{keyInventory: {keyA}, other: nil},
			kind: map[string]string{keyA: "ssh", keyB: "ssh", vaultA: "vault", empty: ""}}
		test(t, overReferences(t, d, l, s), l, s)
	})
}

// overReferences is a server over a database.
func overReferences(t *testing.T, d *db.DB, l *ledger, s *fakeReferences) *bundle {
	t.Helper()
	b := &bundle{t: t, d: d, store: sqlruns.New(d), heard: &heard{}, trail: newTrail(), policies: &policies{}}
	x := b.store
	var err error
	b.Result, err = module.New(module.Params{
		Store: x, Queue: x, Logs: x, EventStore: x, Summaries: x, Keys: x, TicketStore: x, Purger: x, Slots: x, Waits: x,
		Unit: d, Publisher: b.heard, Signals: d.Signals(), Clock: clock.New(), IDs: ids.New(clock.New()),
		Tools: execution.Tools{"ansible": nil, "bash": nil}, References: fakeCatalog{s}, Credentials: s,
		Guard: l, Objects: x, Recorder: b.trail, Targets: masking{}, Policies: b.policies, Materials: fakeMaterials{s: s},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func over(inventory string, credentials ...string) runs.Submission {
	s := script()
	s.InventoryID, s.CredentialIDs = inventory, credentials
	return s
}

// TestCredentialsTakeTheRightToUseThem checks that the right is not needed for credentials of the inventory or the
// template, and that a refusal makes no run and no entry.
func TestCredentialsTakeTheRightToUseThem(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, l *ledger, _ *fakeReferences) {
		ctx := as(t, "ada")
		inherited := []string{oid(portids.Template, 1), keyA, vaultA}
		for _, c := range []struct {
			level access.Level // of ada with keyA and vaultA
			s     runs.Submission
			vouch []string
			want  fault.Code
			have  []string
		}{
			{level: access.Use, s: over("", vaultA, keyA), have: []string{vaultA, keyA}},
			{level: access.Read, s: over("", vaultA, keyA), want: runs.UseRequired},
			{level: access.None, s: over("", vaultA, keyA), want: secrets.CredentialNotFound},
			{level: access.None, s: over(keyInventory), have: []string{keyA}},
			{level: access.None, s: over(keyInventory, keyA), have: []string{keyA}},
			{level: access.Read, s: over(keyInventory, vaultA), want: runs.UseRequired},
			{level: access.None, s: over(keyInventory, vaultA), want: secrets.CredentialNotFound},
			{level: access.None, s: over(other, keyA), want: secrets.CredentialNotFound},
			{level: access.None, s: over(keyInventory, vaultA), vouch: inherited, have: []string{vaultA, keyA}},
			{level: access.None, s: over(other, keyA), vouch: inherited, have: []string{keyA}},
			{level: access.None, s: over("", vaultA), vouch: inherited[:2], want: secrets.CredentialNotFound},
			{level: access.Use, s: over("", keyA, keyB), want: secrets.Clash},
			{level: access.Use, s: over(keyInventory, keyB), want: secrets.Clash},
			{level: access.Use, s: over(keyInventory, empty), want: secrets.SecretMissing},
			{level: access.None, s: over(keyInventory, vaultA, empty),
				want: secrets.CredentialNotFound}, // an unreadable credential is reported first
			{level: access.Use, s: over("", oid(portids.Credential, 9)), want: secrets.CredentialNotFound},
		} {
			for _, id := range []string{keyA, vaultA} {
				l.must(t, id, map[string]access.Level{"ada": c.level})
			}
			c.s.Vouched = c.vouch
			before := b.trail.size()
			check := b.Checker.Check(ctx, c.s)
			r, _, err := b.Submitter.Submit(ctx, c.s)
			if c.want.Name != "" {
				if !c.want.Is(err) || !c.want.Is(check) || b.trail.size() != before {
					t.Errorf("%q %v over %q: %v, %v, %d entries", c.level, c.s.CredentialIDs, c.s.InventoryID, check, err,
						b.trail.size()-before)
				}
				continue
			}
			if err != nil || check != nil {
				t.Errorf("%q %v over %q: %v, %v", c.level, c.s.CredentialIDs, c.s.InventoryID, check, err)
				continue
			}
			if d := cmp.Diff(c.have, b.get(r.ID).Spec.CredentialIDs); d != "" {
				t.Error(d)
			}
			named := b.trail.of(r.ID)[0].Detail["credential_ids"]
			if list, ok := named.([]any); !ok || len(list) != len(c.have) {
				t.Errorf("the entry names %v", named)
			}
		}
		list := must[*runs.List](t)(b.Reader.List(t.Context(), runs.Filter{}))
		if list.Total != 5 {
			t.Errorf("%d runs were made", list.Total)
		}
	})
}

// TestWhoReadsARunNeedsNotReadItsCredentials reads a run without a right to its credentials: their ids are left out.
func TestWhoReadsARunNeedsNotReadItsCredentials(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, l *ledger, _ *fakeReferences) {
		r := b.submit(over(keyInventory, vaultA))
		l.must(t, keyA, map[string]access.Level{})
		l.must(t, vaultA, map[string]access.Level{"bob": access.Read})
		for who, want := range map[string][]string{"eve": nil, "bob": {vaultA}} {
			got := must[*runs.Run](t)(b.Reader.Get(as(t, who), r.ID)).Spec.CredentialIDs
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s", who, d)
			}
		}
	})
}

// TestStepsCarryTheirCredentials follows the credentials from the record of the pipeline to the runs of its steps,
// including steps that begin later.
func TestStepsCarryTheirCredentials(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, l *ledger, s *fakeReferences) {
		step := func(name, inventory string, list []string) runs.StepSpec {
			return runs.StepSpec{Name: name, Tool: "bash", Command: "true", InventoryID: inventory, CredentialIDs: list}
		}
		q := runs.PipelineSubmission{InventoryID: keyInventory, CredentialIDs: []string{vaultA}, Steps: []runs.StepSpec{
			step("pipeline's", "", nil), step("own", "", []string{vaultA, vaultA}), step("elsewhere", other, nil),
			step("none", other, []string{}),
			step("another key", other, []string{keyB}),
		}}
		want := map[string][]string{
			"pipeline's": {vaultA, keyA}, "own": {vaultA, keyA}, "elsewhere": {vaultA}, "none": nil, "another key": {keyB},
		}
		carried := func(id string) map[string][]string {
			t.Helper()
			for range q.Steps {
				b.run(runs.Succeeded)
			}
			got := map[string][]string{}
			for _, k := range must[[]*runs.Run](t)(b.Reader.Children(t.Context(), id)) {
				got[k.StepName] = b.get(k.ID).Spec.CredentialIDs
			}
			return got
		}
		ctx := as(t, "ada")
		l.must(t, keyA, map[string]access.Level{})
		p, _, err := b.Submitter.SubmitPipeline(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, carried(p.ID)); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{vaultA}, b.get(p.ID).Spec.CredentialIDs); d != "" {
			t.Errorf("what is lent became the pipeline's: %s", d)
		}
		again := must[*runs.Run](t)(b.Controller.Rerun(ctx, p.ID))
		if d := cmp.Diff(want, carried(again.ID)); d != "" {
			t.Errorf("again: %s", d)
		}
		// The inventory now adds another credential. The caller needs the right to use the former one.
		s.setInherited(keyInventory)
		if _, err := b.Controller.Rerun(ctx, p.ID); !secrets.CredentialNotFound.Is(err) {
			t.Error(err)
		}
		s.setInherited(keyInventory, keyB)
		before := b.trail.size()
		if _, err := b.Controller.Rerun(t.Context(), p.ID); !secrets.Clash.Is(err) || b.trail.size() != before {
			t.Error(err)
		}
		if err := b.Checker.CheckPipeline(t.Context(), runs.PipelineSubmission{InventoryID: keyInventory,
			Steps: []runs.StepSpec{step("a", "", []string{keyA})}}); !secrets.Clash.Is(err) {
			t.Error(err)
		}
	})
}

// TestWhatIsMadeOfARunIsCheckedAnew checks the rights of a run that is made from another one: the credentials of the
// inventory need no right, those that the run named need one.
func TestWhatIsMadeOfARunIsCheckedAnew(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, l *ledger, s *fakeReferences) {
		l.must(t, keyA, map[string]access.Level{})
		l.must(t, vaultA, map[string]access.Level{"ada": access.Use, "bob": access.Read})
		ada, bob := as(t, "ada"), as(t, "bob")
		named, _, err := b.Submitter.Submit(ada, over(keyInventory, vaultA))
		if err != nil {
			t.Fatal(err)
		}
		inherited := b.submit(over(keyInventory))
		again := must[*runs.Run](t)(b.Controller.Rerun(ada, named.ID))
		if d := cmp.Diff([]string{vaultA, keyA}, b.get(again.ID).Spec.CredentialIDs); d != "" {
			t.Error(d)
		}
		if _, err := b.Controller.Rerun(bob, named.ID); !runs.UseRequired.Is(err) {
			t.Error(err)
		}
		must[*runs.Run](t)(b.Controller.Rerun(bob, inherited.ID))
		s.setInherited(keyInventory, keyB)
		if _, err := b.Controller.Rerun(bob, inherited.ID); !secrets.CredentialNotFound.Is(err) {
			t.Error(err)
		}
		if _, err := b.Controller.Rerun(t.Context(), inherited.ID); !secrets.Clash.Is(err) {
			t.Error(err)
		}

		s.setInherited(keyInventory, keyA)
		play := runs.Submission{Spec: runs.Spec{Playbook: "site.yml", Shards: 2, InventoryID: keyInventory}}
		split := b.submit(play)
		for { // runs that wait before it
			a := b.claim()
			if a.Run.ID == split.ID {
				if err := b.Worklist.Divide(t.Context(), a.Lease, []string{"x", "y"}, nil); err != nil {
					t.Fatal(err)
				}
				break
			}
			b.finish(a, runs.Ending{Status: runs.Succeeded})
		}
		for range 2 {
			a := b.claim()
			if !slices.Equal(a.Run.Spec.CredentialIDs, []string{keyA}) {
				t.Errorf("a shard has %v", a.Run.Spec.CredentialIDs)
			}
			b.begin(a)
			b.finish(a, runs.Ending{Status: runs.Failed})
		}
		retry := must[*runs.Run](t)(b.Controller.Retry(bob, split.ID))
		if d := cmp.Diff([]string{keyA}, b.get(retry.ID).Spec.CredentialIDs); d != "" {
			t.Error(d)
		}
	})
}
