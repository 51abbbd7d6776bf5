package catalog_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
)

type levels = map[string]access.Level

// act is one call of a driving port on an existing object, with the required level.
type act struct {
	name string
	want access.Level
	do   func(ctx context.Context, b *bundle, s scene) error
}

func ofKind(kind string) []act {
	switch kind {
	case "project":
		return []act{
			{"get", access.Read, func(ctx context.Context, b *bundle, s scene) error {
				_, err := b.Projects.Get(ctx, s.p.ID)
				return err
			}},
			{"files", access.Read, func(ctx context.Context, b *bundle, s scene) error {
				_, _, err := b.Projects.Files(ctx, s.p.ID, "", "")
				return err
			}},
			{"file", access.Read, func(ctx context.Context, b *bundle, s scene) error {
				_, _, err := b.Projects.File(ctx, s.p.ID, "a", "")
				return err
			}},
			{"commits", access.Read, func(ctx context.Context, b *bundle, s scene) error {
				_, err := b.Commits.Commits(ctx, s.p.ID, "a", "")
				return err
			}},
			{"sync", access.Use, func(ctx context.Context, b *bundle, s scene) error {
				_, err := b.Projects.Sync(ctx, s.p.ID)
				return err
			}},
			{"update", access.Manage, func(ctx context.Context, b *bundle, s scene) error {
				_, err := b.Projects.Update(ctx, s.p.ID, 0, project("site"))
				return err
			}},
			{"delete", access.Manage, func(ctx context.Context, b *bundle, s scene) error {
				return b.Projects.Delete(ctx, s.p.ID, 0)
			}},
		}
	case "inventory":
		return []act{
			{"get", access.Read, func(ctx context.Context, b *bundle, s scene) error {
				_, err := b.Inventories.Get(ctx, s.i.ID)
				return err
			}},
			{"hosts", access.Read, func(ctx context.Context, b *bundle, s scene) error {
				_, _, err := b.Inventories.Hosts(ctx, s.i.ID, window)
				return err
			}},
			{"resolve", access.Read, func(ctx context.Context, b *bundle, s scene) error {
				_, err := b.Inventories.Resolve(ctx, s.i.ID, "all")
				return err
			}},
			{"versions", access.Read, func(ctx context.Context, b *bundle, s scene) error {
				_, _, err := b.Versions.Versions(ctx, s.i.ID, window)
				return err
			}},
			{"version", access.Read, func(ctx context.Context, b *bundle, s scene) error {
				_, err := b.Versions.Version(ctx, s.i.ID, 1)
				return err
			}},
			{"difference", access.Read, func(ctx context.Context, b *bundle, s scene) error {
				_, err := b.Versions.Diff(ctx, s.i.ID, 0, 1)
				return err
			}},
			{"update", access.Manage, func(ctx context.Context, b *bundle, s scene) error {
				_, err := b.Inventories.Update(ctx, s.i.ID, 0, inventory("estate"))
				return err
			}},
		}
	case "inventory_source":
		return []act{
			{"get", access.Read, func(ctx context.Context, b *bundle, s scene) error {
				_, err := b.Sources.Get(ctx, s.s.ID)
				return err
			}},
			{"refresh", access.Use, func(ctx context.Context, b *bundle, s scene) error {
				_, err := b.Sources.Refresh(ctx, s.s.ID)
				return err
			}},
			{"update", access.Manage, func(ctx context.Context, b *bundle, s scene) error {
				_, err := b.Sources.Update(ctx, s.s.ID, 0, source("cmdb", s.i.ID))
				return err
			}},
			{"delete", access.Manage, func(ctx context.Context, b *bundle, s scene) error {
				return b.Sources.Delete(ctx, s.s.ID, 0)
			}},
		}
	default:
		return []act{
			{"get", access.Read, func(ctx context.Context, b *bundle, s scene) error {
				_, err := b.Templates.Get(ctx, s.t.ID)
				return err
			}},
			{"update", access.Manage, func(ctx context.Context, b *bundle, s scene) error {
				_, err := b.Templates.Update(ctx, s.t.ID, 0, template("deploy"))
				return err
			}},
			{"delete", access.Manage, func(ctx context.Context, b *bundle, s scene) error {
				return b.Templates.Delete(ctx, s.t.ID, 0)
			}},
		}
	}
}

// TestLevels checks that unreadable objects count as missing, and that readable ones refuse other access. The level of
// a source is that of its inventory.
func TestLevels(t *testing.T) {
	t.Parallel()
	missing := map[string]fault.Code{
		"project": catalog.ProjectNotFound, "inventory": catalog.InventoryNotFound,
		"inventory_source": catalog.SourceNotFound,
		"template":         catalog.TemplateNotFound,
	}
	for kind, none := range missing {
		t.Run(kind, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, b *bundle) {
				s := b.scene()
				id := map[string]string{"project": s.p.ID, "inventory": s.i.ID, "inventory_source": s.i.ID,
					"template": s.t.ID}[kind]
				for _, level := range []access.Level{access.None, access.Read, access.Use, access.Manage} {
					b.guard.become(access.None, levels{id: level})
					for _, a := range ofKind(kind) {
						err := a.do(t.Context(), b, s)
						switch {
						case level.Covers(a.want):
							if err != nil {
								t.Errorf("%s with %q: %v", a.name, level, err)
							}
						case level == access.None:
							if !none.Is(err) {
								t.Errorf("%s of what may not be read: %v", a.name, err)
							}
						case !catalog.NotAllowed.Is(err):
							t.Errorf("%s with %q: %v", a.name, level, err)
						}
					}
				}
			})
		})
	}
}

// TestNobodyDecides checks that nothing is returned or done if the guard fails.
func TestNobodyDecides(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	s := b.scene()
	b.guard.fails = errors.New("no rights can be read")
	for _, kind := range []string{"project", "inventory", "inventory_source", "template"} {
		for _, a := range ofKind(kind) {
			if err := a.do(t.Context(), b, s); !errors.Is(err, b.guard.fails) {
				t.Errorf("%s %s: %v", kind, a.name, err)
			}
		}
	}
	if _, err := b.Projects.Create(t.Context(), project("new")); !errors.Is(err, b.guard.fails) {
		t.Error(err)
	}
	if _, _, err := b.Templates.List(t.Context(), catalog.Filter{}, window); !errors.Is(err, b.guard.fails) {
		t.Error(err)
	}
}

// TestCreateRights checks that objects are created in organizations that the caller may write to, and only refer to
// readable objects; a source needs an inventory that the caller may manage.
func TestCreateRights(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx, s := t.Context(), b.scene()
		org := b.org("org_1")
		creates := map[string]func(org string) error{
			"project": func(org string) error {
				p := project("new " + org)
				p.Org = org
				_, err := b.Projects.Create(ctx, p)
				return err
			},
			"inventory": func(org string) error {
				i := inventory("new " + org)
				i.Org = org
				_, err := b.Inventories.Create(ctx, i)
				return err
			},
			"source": func(org string) error {
				x := source("new "+org, s.i.ID)
				x.Org = org
				_, err := b.Sources.Create(ctx, x)
				return err
			},
			"template": func(org string) error {
				x := template("new " + org)
				x.Org = org
				_, err := b.Templates.Create(ctx, x)
				return err
			},
		}
		b.guard.become(access.Manage, nil, org)
		for name, create := range creates {
			if err := create(""); !catalog.NotAllowed.Is(err) {
				t.Errorf("%s without an organization: %v", name, err)
			}
			if err := create(org); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		b.guard.become(access.Manage, levels{s.i.ID: access.Use, s.p.ID: access.None}, "")
		if _, err := b.Sources.Create(ctx, source("x", s.i.ID)); !catalog.NotAllowed.Is(err) {
			t.Error(err)
		}
		x := template("x")
		x.ProjectID = s.p.ID
		if _, err := b.Templates.Create(ctx, x); !catalog.ProjectNotFound.Is(err) || field(err) != "project_id" {
			t.Error(err)
		}
	})
}

// TestMove checks that an object only moves to an organization that its caller may write to.
func TestMove(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx, s := t.Context(), b.scene()
		ours, theirs := b.org("org_1"), b.org("org_2")
		b.guard.become(access.Manage, nil, ours)
		p := project("site")
		p.Org = theirs
		if _, err := b.Projects.Update(ctx, s.p.ID, 0, p); !catalog.NotAllowed.Is(err) {
			t.Error(err)
		}
		src := source("cmdb", s.i.ID)
		src.Org = theirs
		if _, err := b.Sources.Update(ctx, s.s.ID, 0, src); !catalog.NotAllowed.Is(err) {
			t.Error(err)
		}
		p.Org = ours
		if got := must[catalog.Project](t)(b.Projects.Update(ctx, s.p.ID, 0, p)); got.Org != ours {
			t.Errorf("%+v", got)
		}
	})
}

// TestLists checks that lists only contain readable objects.
func TestLists(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		b.scene()
		totals := func() (out []int) {
			_, p, err1 := b.Projects.List(ctx, catalog.Filter{}, window)
			_, i, err2 := b.Inventories.List(ctx, catalog.Filter{}, window)
			_, s, err3 := b.Sources.List(ctx, catalog.Filter{}, window)
			_, x, err4 := b.Templates.List(ctx, catalog.Filter{}, window)
			if err := errors.Join(err1, err2, err3, err4); err != nil {
				t.Fatal(err)
			}
			return []int{p, i, s, x}
		}
		if d := cmp.Diff([]int{1, 1, 1, 1}, totals()); d != "" {
			t.Error(d)
		}
		b.guard.become(access.None, nil)
		if d := cmp.Diff([]int{0, 0, 0, 0}, totals()); d != "" {
			t.Error(d)
		}
	})
}

// TestInUse checks that referenced objects are not deleted, and that the fault only lists readable references.
func TestInUse(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx, s := t.Context(), b.scene()
		var names []catalog.Template
		for _, name := range []string{"one", "two"} {
			x := template(name)
			x.InventoryID, x.ProjectID = s.i.ID, s.p.ID
			names = append(names, b.template(x))
		}
		before := b.stored()
		used := func(err error) (by []map[string]any, others int) {
			t.Helper()
			var f *fault.Error
			if !object.InUse.Is(err) || !errors.As(err, &f) {
				t.Fatal(err)
			}
			by, _ = f.Detail["used_by"].([]map[string]any)
			others, _ = f.Detail["others"].(int)
			return by, others
		}
		use := func(kind, id string) map[string]any { return map[string]any{"kind": kind, "id": id} }
		by, others := used(b.Inventories.Delete(ctx, s.i.ID, 0))
		want := []map[string]any{use("inventory_source", s.s.ID), use("template", names[0].ID), use("template", names[1].ID)}
		if d := cmp.Diff(want, by); d != "" || others != 0 {
			t.Error(d, others)
		}
		b.guard.become(access.Manage, levels{names[0].ID: access.None})
		by, others = used(b.Inventories.Delete(ctx, s.i.ID, 0))
		if d := cmp.Diff(want[2:], by); d != "" || others != 2 {
			t.Error(d, others)
		}
		by, others = used(b.Projects.Delete(ctx, s.p.ID, 0))
		if d := cmp.Diff(want[2:], by); d != "" || others != 1 || b.checkouts.forgotten(s.p.ID) {
			t.Error(d, others)
		}
		b.guard.admins()
		if d := cmp.Diff(before, b.stored()); d != "" {
			t.Errorf("a refusal changed something: %s", d)
		}
		for _, x := range names {
			if err := b.Templates.Delete(ctx, x.ID, 0); err != nil {
				t.Error(err)
			}
		}
		if err := b.Projects.Delete(ctx, s.p.ID, 0); err != nil {
			t.Error(err)
		}
		if err := b.Inventories.Delete(ctx, s.i.ID, 0); !object.InUse.Is(err) {
			t.Error(err)
		}
	})
}

// TestLiveRunsBlockDeletingWhatTheyName deletes an object during a run that names it, and after the run.
func TestLiveRunsBlockDeletingWhatTheyName(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		p := b.inventory("needed")
		b.runs.mu.Lock()
		b.runs.live = map[string][]string{p.ID: {"run_1", "run_2"}}
		b.runs.mu.Unlock()
		var f *fault.Error
		if err := b.Inventories.Delete(ctx, p.ID, 0); !object.InUse.Is(err) || !errors.As(err, &f) {
			t.Fatal(err)
		}
		want := []map[string]any{{"kind": "run", "id": "run_1"}, {"kind": "run", "id": "run_2"}}
		if d := cmp.Diff(want, f.Detail["used_by"]); d != "" {
			t.Error(d)
		}
		b.runs.mu.Lock()
		b.runs.live = nil
		b.runs.mu.Unlock()
		if err := b.Inventories.Delete(ctx, p.ID, 0); err != nil {
			t.Error(err)
		}
	})
}
