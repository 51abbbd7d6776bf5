package plan_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/importer/internal/objects"
	"github.com/writ-automation/writ/modules/importer/internal/plan"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/scheduling"
)

// store is the stored objects of all kinds, with units that keep or drop what was written in them.
type store struct {
	objects map[string]objects.Stored // by kind and name
	refuse  func(kind importer.Kind, name string, m objects.Members) error
	units   int
	entries []importer.Plan
}

func (s *store) Do(ctx context.Context, fn func(context.Context) error) error {
	s.units++
	before := maps.Clone(s.objects)
	err := fn(ctx)
	if err != nil {
		s.objects = before
	}
	return err
}

// kind is one kind of the store.
type kind struct {
	*store
	kind importer.Kind
}

func (k kind) Named(_ context.Context, names ...string) (map[string][]objects.Stored, error) {
	out := make(map[string][]objects.Stored)
	for _, name := range names {
		if o, ok := k.objects[string(k.kind)+"/"+name]; ok {
			out[name] = []objects.Stored{o}
		}
	}
	return out, nil
}

func (k kind) Create(_ context.Context, name string, m objects.Members) (string, error) {
	if err := k.refused(name, m); err != nil {
		return "", err
	}
	id := fmt.Sprintf("%s_%d", k.kind, len(k.objects))
	k.objects[string(k.kind)+"/"+name] = objects.Stored{Record: object.Record{ID: id, Name: name}, Members: m}
	return id, nil
}

func (k kind) Update(_ context.Context, o objects.Stored, m objects.Members) error {
	if err := k.refused(o.Name, m); err != nil {
		return err
	}
	o.Members = m
	k.objects[string(k.kind)+"/"+o.Name] = o
	return nil
}

func (k kind) refused(name string, m objects.Members) error {
	if k.refuse == nil {
		return nil
	}
	return k.refuse(k.kind, name, m)
}

func (kind) Differs(context.Context, objects.Stored, objects.Members) (changed, known []string, err error) {
	return nil, nil, nil
}

// times says that every schedule fires at noon.
type times struct{}

func (times) Preview(cron, zone string, _ int) (scheduling.Preview, error) {
	if cron == "bad" {
		return scheduling.Preview{}, fault.BadField("cron", "is not valid")
	}
	return scheduling.Preview{Cron: cron, Timezone: zone, Next: []time.Time{time.Unix(43200, 0).UTC()}}, nil
}

func newPlanner(s *store) *plan.Planner {
	s.objects = make(map[string]objects.Stored)
	kinds := make(map[importer.Kind]objects.Kind)
	for _, k := range importer.Kinds() {
		kinds[k] = kind{s, k}
	}
	return &plan.Planner{Kinds: kinds, Schedule: times{}, Unit: s,
		Record: func(_ context.Context, p importer.Plan) error { s.entries = append(s.entries, p); return nil }}
}

// export is a project, a template, a workflow of it, and a schedule, in an order in which they cannot be written.
func export() []importer.Object {
	return []importer.Object{
		{Kind: importer.Schedule, Name: "nightly", Class: importer.Same,
			Spec: &importer.ScheduleSpec{Cron: "0 2 * * *", Enabled: true, Template: "release"}},
		{Kind: importer.Template, Name: "release", Class: importer.Same, Spec: &importer.TemplateSpec{
			Steps: []importer.Step{{Name: "one", Template: "deploy"}, {Name: "two", DependsOn: []string{"one"}}}}},
		{Kind: "user", Name: "ada", Class: importer.NoHome, Reason: "Accounts are not imported."},
		{Kind: importer.Template, Name: "deploy", Class: importer.Same,
			Spec: &importer.TemplateSpec{Playbook: "site.yml", Project: "site"}},
		{Kind: importer.Project, Name: "site", Class: importer.Same,
			Spec: &importer.ProjectSpec{RepoURL: "https://git.example.com/site"}},
	}
}

func actions(p importer.Plan) (out []string) {
	for _, o := range p.Objects {
		out = append(out, fmt.Sprintf("%s %s", o.Action, o.Name))
	}
	return out
}

func TestMake(t *testing.T) {
	t.Parallel()
	s := &store{}
	p := newPlanner(s)
	list := plan.Order(export())
	preview, err := p.Make(t.Context(), "awx", list, false)
	if err != nil || len(s.objects) != 0 || len(s.entries) != 0 || preview.Applied {
		t.Fatalf("a preview wrote %v, %v: %v", s.objects, s.entries, err)
	}
	for _, o := range preview.Objects {
		if o.ID != "" {
			t.Errorf("a preview shows the id %s", o.ID)
		}
	}
	applied, err := p.Make(t.Context(), "awx", list, true)
	want := []string{"create site", "create deploy", "create release", "create nightly", "skip ada"}
	if d := cmp.Diff(want, actions(applied)); d != "" || err != nil || len(s.objects) != 4 || len(s.entries) != 1 {
		t.Errorf("%v, %d objects: %s", err, len(s.objects), d)
	}
	got := s.objects["template/deploy"].Members
	if got["project_id"] != s.objects["project/site"].ID || got["project"] != nil {
		t.Errorf("the template is %v", got)
	}
	if n := applied.Objects[3].Fires; len(n) != 1 || preview.Counts != applied.Counts {
		t.Errorf("the times are %v, the counts %+v and %+v", n, preview.Counts, applied.Counts)
	}
	again, err := p.Make(t.Context(), "awx", list, true)
	if err != nil || again.Counts.Create+again.Counts.Update != 0 || again.Objects[0].Reason != "unchanged" {
		t.Errorf("again: %v %v", err, actions(again))
	}
}

// TestRefused refuses the project: all that need it are skipped with the reason, and nothing else is lost.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := &store{refuse: func(k importer.Kind, _ string, _ objects.Members) error {
		if k == importer.Project {
			return fault.BadField("repo_url", "is not allowed here")
		}
		return nil
	}}
	list := append(export(), importer.Object{Kind: importer.Project, Name: "other", Class: importer.Same},
		importer.Object{Kind: importer.Inventory, Name: "web", Class: importer.Same,
			Spec: &importer.InventorySpec{Content: "a"}},
		importer.Object{Kind: importer.Schedule, Name: "broken", Class: importer.Same,
			Spec: &importer.ScheduleSpec{Cron: "bad", Template: "release"}})
	p, err := newPlanner(s).Make(t.Context(), "awx", plan.Order(list), true)
	if err != nil {
		t.Fatal(err)
	}
	reasons := make(map[string]string)
	for _, o := range p.Objects {
		if o.Class == importer.NoHome {
			reasons[o.Name] = o.Reason
		}
	}
	for name, want := range map[string]string{
		"site": "is not allowed here", "deploy": `the project "site"`, "release": `the template "deploy"`,
		"nightly": `the template "release"`, "broken": "release", "ada": "Accounts",
	} {
		if !strings.Contains(reasons[name], want) {
			t.Errorf("%s: %q, want %q", name, reasons[name], want)
		}
	}
	if len(s.objects) != 1 || p.Counts.Create != 1 || s.objects["inventory/web"].ID == "" {
		t.Errorf("the store has %v", s.objects)
	}
}

// TestDisabled: a schedule that could not fire is written disabled, once, and stays so when it is imported again.
func TestDisabled(t *testing.T) {
	t.Parallel()
	s := &store{refuse: func(k importer.Kind, _ string, m objects.Members) error {
		if k == importer.Schedule && m["enabled"] == true {
			return fault.Code{Name: "credential_without_secret", Kind: fault.Conflict}.New("the template %v has no secret yet",
				m["template_id"])
		}
		return nil
	}}
	p := newPlanner(s)
	for i, want := range []string{"create nightly", "skip nightly"} {
		got, err := p.Make(t.Context(), "awx", plan.Order(export()), true)
		if err != nil {
			t.Fatal(err)
		}
		o := got.Objects[3]
		message := []string{`the template "release" has no secret yet`, "stays disabled here, and is enabled there"}[i]
		if actions(got)[3] != want || len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0].Message, message) ||
			i == 0 && o.Class != importer.NeedsYou {
			t.Errorf("the schedule is %+v, want %s", o, want)
		}
	}
	if s.objects["schedule/nightly"].Members["enabled"] == true {
		t.Error("the schedule is enabled")
	}
}

// TestEnabledHere: an import changes a stored schedule, but not whether it is enabled.
func TestEnabledHere(t *testing.T) {
	t.Parallel()
	for _, here := range []bool{true, false} {
		s, list := &store{}, export()
		p := newPlanner(s)
		spec := *list[at(list, "nightly")].Spec.(*importer.ScheduleSpec)
		for i, want := range []string{"create nightly", "skip nightly", "update nightly"} {
			spec.Enabled = i == 0 == here
			if i == 2 {
				spec.Cron = "0 5 * * *"
			}
			changed := spec
			list[at(list, "nightly")].Spec = &changed
			got, err := p.Make(t.Context(), "awx", plan.Order(list), true)
			if err != nil {
				t.Fatal(err)
			}
			stored := s.objects["schedule/nightly"].Members
			if actions(got)[3] != want || (len(got.Objects[3].Warnings) > 0) != (i > 0) ||
				(stored["enabled"] == true) != here || stored["cron"] != spec.Cron {
				t.Errorf("enabled %v, import %d: %+v stored as %v, want %s", here, i, got.Objects[3], stored, want)
			}
		}
	}
}

func at(list []importer.Object, name string) int {
	return slices.IndexFunc(list, func(o importer.Object) bool { return o.Name == name })
}

// TestRaced: an object that another import made after this one had looked for it is found by the next pass.
func TestRaced(t *testing.T) {
	t.Parallel()
	n := 0
	s := &store{refuse: func(k importer.Kind, name string, _ objects.Members) error {
		if n++; n == 1 {
			return object.NameTaken.New("the %s name %q is taken", k, name)
		}
		return nil
	}}
	planner := newPlanner(s)
	p, err := planner.Make(t.Context(), "awx", plan.Order(export()), true)
	if err != nil || p.Counts.Create != 4 || p.Counts.NoHome != 1 || s.units != 2 || len(s.entries) != 1 {
		t.Errorf("%v, %v after %d units", err, actions(p), s.units)
	}
	n = 0
	s.refuse = func(importer.Kind, string, objects.Members) (err error) {
		if n++; n == 1 {
			err = object.RevisionChanged.New("the object was changed meanwhile")
		}
		return err
	}
	list := export()
	list[at(list, "nightly")].Spec.(*importer.ScheduleSpec).Cron = "0 5 * * *"
	if p, err = planner.Make(t.Context(), "awx", plan.Order(list), true); err != nil || p.Counts.Update != 1 {
		t.Errorf("an object that changes: %v, %v", err, actions(p))
	}
	s = &store{refuse: func(importer.Kind, string, objects.Members) error { return object.NameTaken.New("is taken") }}
	p, err = newPlanner(s).Make(t.Context(), "awx", plan.Order(export()), true)
	if err != nil || len(s.objects) != 0 || p.Counts.NoHome != 5 || p.Objects[0].Reason != "is taken" {
		t.Errorf("a name that stays taken: %v %+v", err, p.Objects)
	}
}

// TestTooSlow: an import whose passes take too long is given up, and nothing of it is kept.
func TestTooSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{refuse: func(k importer.Kind, name string, _ objects.Members) error {
			time.Sleep(2 * time.Minute)
			if k == importer.Project && name == "site" {
				return fault.BadField("repo_url", "is refused")
			}
			return nil
		}}
		_, err := newPlanner(s).Make(t.Context(), "awx", plan.Order(export()), true)
		if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "longer than 1m0s") || s.units != 1 ||
			len(s.objects) != 0 {
			t.Errorf("%v after %d units, with %d objects", err, s.units, len(s.objects))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := newPlanner(s).Make(ctx, "awx", plan.Order(export()), true); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that is gone: %v", err)
		}
	})
}

// TestFailures: a failure that is not an object's ends the import, and a server that refuses others each time too.
func TestFailures(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is full")
	s := &store{refuse: func(importer.Kind, string, objects.Members) error { return broken }}
	if _, err := newPlanner(s).Make(t.Context(), "awx", plan.Order(export()), true); !errors.Is(err, broken) ||
		len(s.objects) != 0 || len(s.entries) != 0 {
		t.Errorf("%v, and %v was written", err, s.objects)
	}
	n := 0
	s = &store{refuse: func(k importer.Kind, name string, _ objects.Members) error {
		if n++; strings.TrimPrefix(name, "p") == fmt.Sprint(n) {
			return fault.BadField("name", "is refused")
		}
		return nil
	}}
	var list []importer.Object
	for i := range 2 {
		list = append(list, importer.Object{Kind: importer.Project, Name: fmt.Sprintf("p%d", i+1), Class: importer.Same,
			Spec: &importer.ProjectSpec{}})
	}
	if _, err := newPlanner(s).Make(t.Context(), "awx", list, true); err != nil || s.units > 20 {
		t.Errorf("%v after %d units", err, s.units)
	}
}

// TestOrder: templates that launch each other keep their order, and end.
func TestOrder(t *testing.T) {
	t.Parallel()
	workflow := func(name string, launches ...string) importer.Object {
		spec := &importer.TemplateSpec{}
		for _, l := range launches {
			spec.Steps = append(spec.Steps, importer.Step{Name: l, Template: l})
		}
		return importer.Object{Kind: importer.Template, Name: name, Spec: spec}
	}
	var got []string
	list := []importer.Object{workflow("a", "b", "c"), workflow("b", "a"), workflow("c"), workflow("d", "x")}
	for _, o := range plan.Order(list) {
		got = append(got, o.Name)
	}
	if d := cmp.Diff([]string{"b", "c", "a", "d"}, got); d != "" {
		t.Error(d)
	}
}
