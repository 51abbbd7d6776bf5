package drift

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
	"github.com/writ-automation/writ/ports/tx"
)

// fixture is everything that the consumer and the service use: runs by id, and what was stored and published.
type fixture struct {
	runs.Store
	runs.SummaryStore
	runs      map[string]*runs.Run
	events    []runs.Event
	hosts     []runs.HostSummary
	reads     int
	drifting  bool
	applied   []estate.Checked
	found     []estate.Finding // that Apply returns, and of the host h
	sums      estate.DriftPage
	rules     []estate.Ignore
	published []events.Event
	bound     []string
	asked     runs.Reconciliation
	of        string // the dry run
	plans
}

func (w *fixture) ByID(_ context.Context, id string) (*runs.Run, error) {
	if r := w.runs[id]; r != nil {
		return r, nil
	}
	return nil, runs.RunNotFound.New("no run")
}

func (w *fixture) Events(_ context.Context, _ string, after int64, limit int) ([]runs.Event, error) {
	w.reads++
	return w.events[min(int(after), len(w.events)):min(int(after)+limit, len(w.events))], nil
}

func (w *fixture) AppendEvents(context.Context, runs.Lease, []runs.Event) (int64, error) {
	return 0, errors.New("not for readers")
}

func (w *fixture) Hosts(context.Context, string) ([]runs.HostSummary, error) { return w.hosts, nil }

func (w *fixture) Do(ctx context.Context, fn func(context.Context) error) error {
	ctx, hooks := tx.WithHooks(ctx)
	if err := fn(ctx); err != nil {
		return err
	}
	if err := hooks.Finish(ctx); err != nil {
		return err
	}
	hooks.Run()
	return nil
}

func (w *fixture) Publish(_ context.Context, e events.Event) error {
	w.published = append(w.published, e)
	return nil
}

func (*fixture) Now() time.Time { return epoch(0).Add(time.Hour) }

// driftOf is the fixture as a store of drift and of rules.
type driftOf struct{ *fixture }

func (driftOf) Counts(context.Context) (n estate.DriftCounts, err error) { return n, nil }

func (d driftOf) Apply(_ context.Context, c estate.Checked, _ time.Time) ([]estate.Finding, error) {
	d.applied = append(d.applied, c)
	return d.found, nil
}

func (d driftOf) Drifting(context.Context, string) (bool, error) { return d.drifting, nil }

func (d driftOf) Findings(
	_ context.Context, q estate.DriftQuery, _ access.Scope, _ time.Time,
) (estate.DriftPage, error) {
	out := d.sums
	for i := q.Offset; i < min(len(d.found), q.Offset+q.Limit); i++ {
		if q.Target == "" || q.Target == d.found[i].Target.ID {
			out.Findings = append(out.Findings, d.found[i])
		}
	}
	return out, nil
}

func (d driftOf) Bind(_ context.Context, _ string, list []string) error {
	d.bound = list
	return nil
}

func (driftOf) Repairs(context.Context, string) ([]string, error) { return nil, nil }

type rulesOf struct {
	estate.IgnoreStore
	w *fixture
}

func (r rulesOf) Active(context.Context, time.Time) ([]estate.Ignore, error) { return r.w.rules, nil }

func newConsumer(w *fixture) *Consumer {
	return &Consumer{Runs: w, Events: w, Summaries: w, Store: driftOf{w}, Ignores: rulesOf{w: w}, Unit: w, Publisher: w,
		Plans: w, Targets: targets{},
		Clock: w}
}

func (c *Consumer) report(t *testing.T, id string) {
	t.Helper()
	data, err := json.Marshal(runs.Reported{RunID: id})
	if err == nil {
		err = c.Subscription().Handle(t.Context(), events.Message{ID: "msg_1", Name: "runs.run_reported", Data: data})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func playbook(status runs.Status, dry bool, change ...func(*runs.Run)) *runs.Run {
	r := &runs.Run{ID: "run_1", Kind: runs.Single, Status: status, EndedAt: epoch(9),
		Spec: runs.Spec{Tool: runs.Ansible, Playbook: "site.yml", DryRun: dry}}
	for _, c := range change {
		c(r)
	}
	return r
}

// TestWhichRunsAreRead reports runs of every kind.
func TestWhichRunsAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run           *runs.Run
		drifting      bool
		reads, stored int
	}{
		"a dry run":            {playbook(runs.Succeeded, true), false, 1, 1},
		"a canceled dry run":   {playbook(runs.Canceled, true), false, 1, 1},
		"a real run":           {playbook(runs.Succeeded, false), true, 1, 0}, // no host succeeded by its events
		"a failed real run":    {playbook(runs.Failed, false), true, 1, 0},
		"a real run, no drift": {playbook(runs.Succeeded, false), false, 0, 1},
		"a canceled real run":  {playbook(runs.Canceled, false), true, 0, 0},
		"an interrupted one":   {playbook(runs.Interrupted, false), true, 0, 0},
		"a script":             {playbook(runs.Succeeded, true, func(r *runs.Run) { r.Spec.Tool = "bash" }), false, 0, 0},
		"a parent":             {playbook(runs.Succeeded, true, func(r *runs.Run) { r.Kind = runs.Split }), false, 0, 0},
		"a shard":              {playbook(runs.Succeeded, true, func(r *runs.Run) { r.Kind = runs.Shard }), false, 1, 1},
		"one that was deleted": {nil, false, 0, 0},
		"some tags of a dry run": {playbook(runs.Succeeded, true, func(r *runs.Run) { r.Spec.Tags = []string{"a"} }), false,
			1, 1},
	} {
		w := &fixture{runs: map[string]*runs.Run{}, drifting: c.drifting, hosts: []runs.HostSummary{{Host: "h"},
			{Host: "i", Failed: 1}, {Host: "j", Unreachable: 1}, {Host: "k", Worst: runs.HostIncomplete}}}
		w.events = []runs.Event{{Type: runs.EventHostOK, TaskID: "a", Host: "h", At: epoch(1)}}
		if c.run != nil {
			w.runs["run_1"] = c.run
		}
		newConsumer(w).report(t, "run_1")
		if w.reads != c.reads || len(w.applied) != c.stored {
			t.Errorf("%s: %d reads, %d stored", name, w.reads, len(w.applied))
			continue
		}
		if c.stored > 0 && (len(w.applied[0].Hosts) != 1 || w.applied[0].Hosts[0].Host != "h" ||
			w.applied[0].Partial != (len(c.run.Spec.Tags) > 0) || w.applied[0].Real == c.run.Spec.DryRun) {
			t.Errorf("%s: %+v", name, w.applied)
		}
	}
}

// inventories has one stored inventory.
type inventories struct {
	catalog.InventoryReferences
	hosts []string
}

func (i inventories) Hosts(_ context.Context, id, _ string) ([]string, error) {
	if id != "inv_1" {
		return nil, catalog.InventoryNotFound.New("no inventory")
	}
	return i.hosts, nil
}

// TestRunsOfAllHosts tells which runs show that a host is gone.
func TestRunsOfAllHosts(t *testing.T) {
	t.Parallel()
	recap := runs.Event{Type: runs.EventStats, Stats: json.RawMessage(`{"h":{"ok":1}}`)}
	for name, c := range map[string]struct {
		change func(*runs.Run)
		ends   bool
		all    bool
		hosts  []string
	}{
		"a stored inventory":  {func(r *runs.Run) { r.Spec.InventoryID = "inv_1" }, true, true, []string{}},
		"one that is deleted": {func(r *runs.Run) { r.Spec.InventoryID = "inv_2" }, true, true, nil},
		"none":                {func(r *runs.Run) { r.Spec.Inventory = "h," }, true, true, nil},
		"no recap":            {func(r *runs.Run) { r.Spec.InventoryID = "inv_1" }, false, false, nil},
		"a limit":             {func(r *runs.Run) { r.Spec.InventoryID, r.Spec.Limit = "inv_1", "h" }, true, false, nil},
		"tags":                {func(r *runs.Run) { r.Spec.SkipTags = []string{"a"} }, true, false, nil},
		"a relaunch":          {func(r *runs.Run) { r.Spec.LimitHosts = []string{"h"} }, true, false, nil},
		"a shard":             {func(r *runs.Run) { r.Kind, r.Spec.LimitHosts = runs.Shard, []string{"h"} }, true, true, nil},
		"a real run":          {func(r *runs.Run) { r.Spec.DryRun, r.Spec.InventoryID = false, "inv_1" }, true, false, nil},
	} {
		w := &fixture{runs: map[string]*runs.Run{"run_1": playbook(runs.Failed, true, c.change)}, drifting: true}
		w.events = []runs.Event{{Type: runs.EventHostOK, TaskID: "a", Host: "h", At: epoch(1)}}
		if c.ends {
			w.events = append(w.events, recap)
		}
		consumer := newConsumer(w)
		consumer.Inventories = inventories{}
		consumer.report(t, "run_1")
		if len(w.applied) != 1 || w.applied[0].AllHosts != c.all || cmp.Diff(c.hosts, w.applied[0].Inventory) != "" {
			t.Errorf("%s: %+v", name, w.applied)
		}
	}
}

// TestEventsAreReadInPages reads more events than a page has.
func TestEventsAreReadInPages(t *testing.T) {
	t.Parallel()
	w := &fixture{runs: map[string]*runs.Run{"run_1": playbook(runs.Succeeded, true)}}
	for i := range 2*eventsPerPage + 1 {
		w.events = append(w.events, runs.Event{Seq: int64(i + 1), Type: runs.EventHostOK, TaskID: "a",
			Host: fmt.Sprint("h", i%9)})
	}
	newConsumer(w).report(t, "run_1")
	if w.reads != 3 || len(w.applied[0].Hosts) != 9 {
		t.Errorf("%d reads, %d hosts", w.reads, len(w.applied[0].Hosts))
	}
}

// TestNewDriftIsPublished publishes what is new and not left out.
func TestNewDriftIsPublished(t *testing.T) {
	t.Parallel()
	w := &fixture{runs: map[string]*runs.Run{"run_1": playbook(runs.Succeeded, true)},
		events: []runs.Event{{Type: runs.EventHostOK, TaskID: "a", Host: "h", At: epoch(1)}}}
	c := newConsumer(w)
	if c.report(t, "run_1"); len(w.published) > 0 {
		t.Errorf("published nothing new: %v", w.published)
	}
	w.rules = []estate.Ignore{{Host: "h1", Resource: "file *"}}
	w.found = []estate.Finding{{Host: "h1", Resource: "file /a"}}
	if c.report(t, "run_1"); len(w.published) > 0 {
		t.Errorf("published what a rule leaves out: %v", w.published)
	}
	want := estate.DriftFound{RunID: "run_1", TargetID: estate.TargetOf(&w.runs["run_1"].Spec).ID, Playbook: "site.yml",
		New: 31, HostCount: 30, At: epoch(9)}
	for i := range 30 {
		w.found = append(w.found, estate.Finding{Host: fmt.Sprintf("i%02d", i), Resource: "file /a"})
		if i < maxNamed {
			want.Hosts = append(want.Hosts, fmt.Sprintf("i%02d", i))
		}
	}
	w.found = append(w.found, estate.Finding{Host: "i00", Resource: "file /b"})
	c.report(t, "run_1")
	if d := cmp.Diff([]events.Event{want}, w.published); d != "" {
		t.Error(d)
	}
}

// reconciler and licence are the fixture as what makes runs and as the licence of the install.
type reconciler struct{ *fixture }

func (r reconciler) Reconcile(ctx context.Context, id string, q runs.Reconciliation) (*runs.Run, error) {
	r.of, r.asked = id, q
	if r.runs[id] == nil {
		return nil, runs.RunNotFound.New("no run")
	}
	made := &runs.Run{ID: "run_new", Status: runs.PendingApproval}
	return made, q.Then(ctx, made)
}

type licence struct {
	system.Licenses
	err error
}

func (l licence) Require(context.Context, string) error { return l.err }

type everybody struct{ access.Guard }

func (everybody) Scope(context.Context) (access.Scope, error) { return access.Everything(), nil }

// TestReconcile asks for repairs in every state.
func TestReconcile(t *testing.T) {
	t.Parallel()
	finding := func(id, target, run string, seen int, by string) estate.Finding {
		return estate.Finding{ID: id, Target: estate.Target{ID: target}, RunID: run, LastSeen: epoch(seen),
			ReconcileRunID: by}
	}
	both := []estate.Finding{finding("a", "1", "dry", 1, ""), finding("b", "2", "dry", 1, "")}
	ended, held := &runs.Run{Status: runs.Rejected}, &runs.Run{Status: runs.PendingApproval}
	for name, c := range map[string]struct {
		found   []estate.Finding
		sums    estate.DriftPage
		target  string
		licence error
		code    string // of the fault, empty for a run
		says    string // a part of its text
		of      string // the dry run that is repeated
		bound   []string
	}{
		"no licence": {licence: system.Unlicensed(estate.FeatureReconcile), code: "license_required"},
		"no host":    {code: "host_not_found"},
		"no drift":   {sums: estate.DriftPage{Hosts: 1, Checked: 1}, code: "no_drift", says: "has no drift"},
		"nothing checked": {sums: estate.DriftPage{Hosts: 1, Unknown: 5}, code: "no_drift",
			says: "could check no task"},
		"partly checked": {sums: estate.DriftPage{Hosts: 1, Checked: 1, Unknown: 5}, code: "no_drift",
			says: "could not be checked: 5"},
		"all left out": {sums: estate.DriftPage{Hosts: 1, Checked: 1, Ignored: 2}, code: "no_drift",
			says: "rules leave out"},
		"two targets": {found: both, code: "invalid"},
		"one of two":  {found: both, target: "2", of: "dry", bound: []string{"b"}},
		"the newest": {found: []estate.Finding{finding("b", "1", "gone", 1, ""), finding("a", "1", "dry", 2, "")}, of: "dry",
			bound: []string{"a"}},
		"a run of tags after a whole one": {found: []estate.Finding{finding("b", "1", "whole", 1, ""),
			finding("c", "1", "dry", 2, ""), finding("a", "1", "dry", 3, "")}, of: "dry", bound: []string{"a", "c"}},
		"a deleted run": {found: []estate.Finding{finding("a", "1", "gone", 1, "")}, code: "no_drift"},
		"repaired already": {found: []estate.Finding{finding("a", "1", "dry", 1, "ended"),
			finding("b", "1", "dry", 1, "deleted")},
			of: "dry", bound: []string{"a", "b"}},
		"being repaired": {found: []estate.Finding{finding("a", "1", "dry", 1, "held")}, code: "drift_reconciling"},
	} {
		w := &fixture{found: c.found, sums: c.sums,
			runs: map[string]*runs.Run{"dry": playbook(runs.Succeeded, true), "ended": ended, "held": held}}
		s := &Drift{Store: driftOf{w}, Runs: w, Plans: w, Reconciler: reconciler{w}, Licenses: licence{err: c.licence},
			Guard: everybody{}, Clock: w}
		made, err := s.Reconcile(t.Context(), "h", c.target)
		if c.code == "" {
			if err != nil || made.ID != "run_new" || w.of != c.of || cmp.Diff(c.bound, w.bound) != "" || w.asked.Host != "h" ||
				cmp.Diff(c.bound, w.asked.Findings) != "" || w.asked.SourceID != w.found[len(w.found)-1].Target.ID {
				t.Errorf("%s: %v, of %s, bound %v, %+v", name, err, w.of, w.bound, w.asked)
			}
			continue
		}
		if got := codeOf(err); got != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w := &fixture{found: []estate.Finding{finding("a", "1", "dry", 1, "")}, runs: map[string]*runs.Run{}}
	s := &Drift{Store: driftOf{w}, Runs: w, Plans: w, Clock: w}
	err := s.bind(t.Context(), estate.DriftQuery{Window: page.Window{}}, &runs.Run{}, []string{"a", "b"})
	if !estate.NoDrift.Is(err) {
		t.Errorf("findings that are gone: %v", err)
	}
}

// codeOf returns the code of a fault.
func codeOf(err error) string {
	var f *fault.Error
	switch {
	case !errors.As(err, &f):
		return ""
	case f.Kind == fault.Unlicensed:
		return "license_required"
	case f.Kind == fault.Invalid:
		return "invalid"
	default:
		return f.Code
	}
}
