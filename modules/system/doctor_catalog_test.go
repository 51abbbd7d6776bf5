package system_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	module "github.com/writ-automation/writ/modules/system"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/system"
)

var noon = time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)

type stopped struct{}

func (stopped) Now() time.Time { return noon }

// id returns an id of a kind that ends with a number.
func id(p ids.Prefix, n int) string { return fmt.Sprintf("%s%026d", p, n) }

// slice returns the window of a list. It refuses other scopes and windows than those of a check.
func slice[T any](s access.Scope, w page.Window, list []T) ([]T, int, error) {
	if !s.All || w.Limit != 200 || w.Offset%200 != 0 {
		return nil, 0, fmt.Errorf("scope %+v, window %+v", s, w)
	}
	return list[min(w.Offset, len(list)):min(w.Offset+w.Limit, len(list))], len(list), nil
}

// fakeCatalog is a catalog in memory.
type fakeCatalog struct {
	catalog.ProjectStore
	catalog.InventoryStore
	catalog.SourceStore
	catalog.TemplateStore
	catalog.References

	projects    []catalog.Project
	inventories []catalog.Inventory
	sources     []catalog.InventorySource
	templates   []catalog.Template
	gone        map[string]bool
	failing     map[string]error // by method
	asked       map[string]int
}

func (s *fakeCatalog) ListProjects(
	_ context.Context, sc access.Scope, _ catalog.Filter, w page.Window,
) ([]catalog.Project, int, error) {
	if err := s.failing["projects"]; err != nil {
		return nil, 0, err
	}
	return slice(sc, w, s.projects)
}

func (s *fakeCatalog) ListInventories(
	_ context.Context, sc access.Scope, _ catalog.Filter, w page.Window,
) ([]catalog.Inventory, int, error) {
	return slice(sc, w, s.inventories)
}

func (s *fakeCatalog) ListSources(
	_ context.Context, sc access.Scope, _ catalog.Filter, w page.Window,
) ([]catalog.InventorySource, int, error) {
	return slice(sc, w, s.sources)
}

func (s *fakeCatalog) ListTemplates(
	_ context.Context, sc access.Scope, _ catalog.Filter, w page.Window,
) ([]catalog.Template, int, error) {
	return slice(sc, w, s.templates)
}

func (s *fakeCatalog) Exists(_ context.Context, kind ids.Prefix, id string) (bool, error) {
	if s.asked == nil {
		s.asked = map[string]int{}
	}
	s.asked[id]++
	if !strings.HasPrefix(id, string(kind)) {
		return false, fmt.Errorf("%s is no %s", id, kind)
	}
	return !s.gone[id], s.failing[id]
}

// known holds the credentials of a catalog.
type known struct{ *fakeCatalog }

func (k known) Exists(ctx context.Context, id string) (bool, error) {
	return k.fakeCatalog.Exists(ctx, ids.Credential, id)
}

func (known) Validate(context.Context, []string) error { return errors.New("nobody asks this") }

func (known) Versions(context.Context, []string) (map[string]int64, error) {
	return nil, errors.New("nobody asks this")
}

func (known) Stored(context.Context, []string) ([]secret.Text, error) {
	return nil, errors.New("nobody asks this")
}

func (s *fakeCatalog) check(t *testing.T) *module.CatalogCheck {
	t.Helper()
	return module.NewCatalogCheck(module.CatalogParams{Projects: s, Inventories: s, Sources: s, Templates: s,
		References: s, Credentials: known{s}, Clock: stopped{}})
}

// lines formats findings for comparison.
func lines(list []system.Finding) []string {
	out := []string{}
	for _, f := range list {
		link := f.Link
		if f.Object.ID != "" {
			link = strings.Replace(link, f.Object.ID, "{id}", 1)
		}
		line := fmt.Sprint(f.Severity, " ", f.Object.Kind, " ", f.Object.Name, ": ", f.Problem, " ", link)
		if f.Fix == "" {
			line += " WITHOUT A FIX"
		}
		out = append(out, line)
	}
	return out
}

// looks compares the findings of a check with the expected ones.
func looks(t *testing.T, c system.Check, examined int, want ...string) {
	t.Helper()
	got, err := c.Examine(t.Context())
	if err != nil || got.Examined != examined {
		t.Errorf("%d examined, want %d: %v", got.Examined, examined, err)
	}
	if d := cmp.Diff(append([]string{}, want...), lines(got.Findings)); d != "" {
		t.Error(d)
	}
}

func record(p ids.Prefix, n int, name string) object.Record {
	return object.Record{ID: id(p, n), Name: name, CreatedAt: noon.Add(-24 * time.Hour),
		UpdatedAt: noon.Add(-24 * time.Hour)}
}

func TestProjectsAndInventories(t *testing.T) {
	t.Parallel()
	s := &fakeCatalog{
		projects: []catalog.Project{
			{Record: record(ids.Project, 1, "good"), SyncedAt: noon, Commit: "abc", CredentialID: id(ids.Credential, 1)},
			{Record: record(ids.Project, 2, "new")},
			{Record: record(ids.Project, 3, "lost"), SyncedAt: noon, LastError: "no such\n host."},
			{Record: record(ids.Project, 4, "never"), LastError: strings.Repeat("x", 400), CredentialID: id(ids.Credential, 9)},
			{Record: record(ids.Project, 5, "old"), SyncedAt: noon, Commit: "abc",
				Hints: []catalog.Hint{{Path: "a.yml", Line: 7}, {Path: "b.yml", Line: 1}}},
			{Record: record(ids.Project, 6, "linked"), SyncedAt: noon, Commit: "abc",
				Hints: []catalog.Hint{{Path: "roles/x", Message: "leads out"}, {Path: "a.yml", Line: 7}}},
		},
		inventories: []catalog.Inventory{
			{Record: record(ids.Inventory, 1, "full"), Hosts: 1,
				CredentialIDs: []string{id(ids.Credential, 1), id(ids.Credential, 9), id(ids.Credential, 9)}},
			{Record: record(ids.Inventory, 2, "empty"), Groups: 2},
		},
		gone: map[string]bool{id(ids.Credential, 9): true},
	}
	looks(t, s.check(t), 8,
		"error inventory full: it names the credential "+id(ids.Credential, 9)+", which does not exist /v1/inventories/{id}",
		"error project never: it names the credential "+id(ids.Credential, 9)+", which does not exist /v1/projects/{id}",
		"warning project linked: roles/x leads out /v1/projects/{id}",
		"warning project lost: the project cannot be fetched: no such host /v1/projects/{id}",
		"warning project never: the project cannot be fetched: "+strings.Repeat("x", 299)+"… /v1/projects/{id}",
		"info inventory empty: the inventory has no hosts, so a run over it touches nothing /v1/inventories/{id}",
		"info project new: the project was never synchronised /v1/projects/{id}",
		"info project old: its playbooks have conditions that ansible-core 2.19 and newer refuse, the first in a.yml, "+
			"line 7 /v1/projects/{id}")
	if d := cmp.Diff(map[string]int{id(ids.Credential, 1): 1, id(ids.Credential, 9): 1}, s.asked); d != "" {
		t.Errorf("asked more than once: %s", d)
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	at := func(n int, name string, changed time.Duration, synced time.Time, interval int,
		failure string) catalog.InventorySource {
		r := record(ids.Source, n, name)
		r.UpdatedAt = noon.Add(-changed)
		return catalog.InventorySource{Record: r, SyncedAt: synced, SyncInterval: interval, LastError: failure,
			InventoryID: id(ids.Inventory, 1)}
	}
	dangling := at(8, "dangling", time.Hour, noon, 0, "")
	dangling.InventoryID, dangling.ProjectID, dangling.CredentialID = id(ids.Inventory, 2), id(ids.Project, 2),
		id(ids.Credential, 2)
	s := &fakeCatalog{
		sources: []catalog.InventorySource{
			at(1, "by hand", time.Hour, time.Time{}, 0, ""),
			at(2, "in time", time.Hour, noon.Add(-120*time.Second), 60, ""),
			at(3, "overdue", time.Hour, noon.Add(-121*time.Second), 60, ""),
			at(4, "never", time.Hour, time.Time{}, 60, ""),
			at(5, "changed", time.Minute, noon.Add(-time.Hour), 60, ""),
			at(6, "failed", time.Hour, noon.Add(-time.Hour), 60, "no answer"),
			dangling,
		},
		gone: map[string]bool{id(ids.Inventory, 2): true, id(ids.Project, 2): true, id(ids.Credential, 2): true},
	}
	late := ": the source is to be refreshed every 60 seconds, and was not for more than twice as long " +
		"/v1/inventory-sources/{id}"
	looks(t, s.check(t), 7,
		"error inventory_source dangling: it names the inventory "+id(ids.Inventory, 2)+
			", which does not exist /v1/inventory-sources/{id}",
		"error inventory_source dangling: it names the project "+id(ids.Project, 2)+
			", which does not exist /v1/inventory-sources/{id}",
		"error inventory_source dangling: it names the credential "+id(ids.Credential, 2)+
			", which does not exist /v1/inventory-sources/{id}",
		"warning inventory_source failed: the source could not be refreshed, so its inventory stays as it was: no answer "+
			"/v1/inventory-sources/{id}",
		"warning inventory_source never"+late, "warning inventory_source overdue"+late)
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	s := &fakeCatalog{
		projects: []catalog.Project{{Record: record(ids.Project, 1, "good"), SyncedAt: noon}},
		templates: []catalog.Template{
			{Record: record(ids.Template, 1, "sound"), TemplateSpec: catalog.TemplateSpec{
				ProjectID: id(ids.Project, 1), InventoryID: id(ids.Inventory, 1), CredentialIDs: []string{id(ids.Credential, 1)},
			}},
			{Record: record(ids.Template, 2, "dangling"), TemplateSpec: catalog.TemplateSpec{
				ProjectID: id(ids.Project, 7), InventoryID: id(ids.Inventory, 7), CredentialIDs: []string{id(ids.Credential, 7)},
				SelectableCredentialIDs: []string{id(ids.Credential, 7), id(ids.Credential, 8)},
			}},
			{Record: record(ids.Template, 3, "workflow"), TemplateSpec: catalog.TemplateSpec{
				Steps: []runs.StepSpec{{InventoryID: id(ids.Inventory, 1)},
					{InventoryID: id(ids.Inventory, 7), CredentialIDs: []string{id(ids.Credential, 8)}}},
			}},
		},
		gone: map[string]bool{id(ids.Project, 7): true, id(ids.Inventory, 7): true, id(ids.Credential, 7): true,
			id(ids.Credential, 8): true},
	}
	names := func(template, kind, id string) string {
		return "error template " + template + ": it names the " + kind + " " + id +
			", which does not exist /v1/templates/{id}"
	}
	looks(t, s.check(t), 4,
		names("dangling", "project", id(ids.Project, 7)), names("dangling", "inventory", id(ids.Inventory, 7)),
		names("dangling", "credential", id(ids.Credential, 7)), names("dangling", "credential", id(ids.Credential, 8)),
		names("workflow", "inventory", id(ids.Inventory, 7)), names("workflow", "credential", id(ids.Credential, 8)))
	if s.asked[id(ids.Project, 1)] != 0 {
		t.Error("what was listed is asked for")
	}
}

// TestCatalogBounds: the check reads page by page and within its limits.
func TestCatalogBounds(t *testing.T) {
	t.Parallel()
	s := &fakeCatalog{}
	for i := range 10_001 {
		s.projects = append(s.projects, catalog.Project{Record: record(ids.Project, i, fmt.Sprint(i)), SyncedAt: noon})
	}
	looks(t, s.check(t), 10_000, "info  : only the first 10000 of 10001 projects were checked ")
	s.projects = s.projects[:450]
	looks(t, s.check(t), 450)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.check(t).Examine(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestCatalogThatCannotBeRead: a failed check returns the findings that it made before.
func TestCatalogThatCannotBeRead(t *testing.T) {
	t.Parallel()
	away := &fault.Error{Kind: fault.Unavailable, Message: "away"}
	odd := errors.New("odd")
	s := &fakeCatalog{
		projects: []catalog.Project{
			{Record: record(ids.Project, 1, "a"), SyncedAt: noon, CredentialID: id(ids.Credential, 1)},
			{Record: record(ids.Project, 2, "b"), CredentialID: id(ids.Credential, 2)},
		},
		failing: map[string]error{id(ids.Credential, 1): odd},
	}
	got, err := s.check(t).Examine(t.Context())
	if !errors.Is(err, odd) || got.Examined != 2 || len(got.Findings) != 1 {
		t.Errorf("one that cannot be judged hides the others: %+v %v", got, err)
	}
	s.failing = map[string]error{id(ids.Credential, 1): away}
	if got, err := s.check(t).Examine(t.Context()); !errors.Is(err, away) || got.Examined != 1 {
		t.Errorf("%+v %v", got, err)
	}
	s.failing = map[string]error{"projects": away}
	if got, err := s.check(t).Examine(t.Context()); !errors.Is(err, away) || got.Examined != 0 {
		t.Errorf("%+v %v", got, err)
	}
}
