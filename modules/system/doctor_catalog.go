package system

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/system"
)

// CatalogCheck reports projects, inventories, sources and templates that are unreachable, outdated or refer to missing
// objects.
type CatalogCheck struct{ p CatalogParams }

var _ system.Check = (*CatalogCheck)(nil)

// NewCatalogCheck creates the check.
func NewCatalogCheck(p CatalogParams) *CatalogCheck {
	return &CatalogCheck{p: p}
}

func (*CatalogCheck) Name() string { return "catalog_references" }

// Examine reads projects, inventories, their sources and templates, at most 10,000 of each.
func (c *CatalogCheck) Examine(ctx context.Context) (system.Examination, error) {
	l := &catalogExamination{CatalogParams: c.p, known: make(map[string]bool)}
	for _, part := range []func(context.Context) error{l.projects, l.inventories, l.sources, l.templates} {
		if err := part(ctx); err != nil {
			return l.result(err)
		}
	}
	return l.result(nil)
}

// catalogExamination is one examination.
type catalogExamination struct {
	CatalogParams
	survey
	known map[string]bool // existence of objects by id
}

func (l *catalogExamination) projects(ctx context.Context) error {
	list := func(w page.Window) ([]catalog.Project, int, error) {
		return l.Projects.ListProjects(ctx, access.Everything(), catalog.Filter{}, w)
	}
	return each(ctx, &l.survey, "projects", list, func(p catalog.Project) error {
		l.note(p.ID, true)
		on := subject(p.Record)
		f := system.Finding{Object: on, Link: "/v1/projects/" + p.ID}
		switch {
		case p.LastError != "":
			f.Severity, f.Problem = system.Warning, "the project cannot be fetched: "+clip(p.LastError)
			f.Fix = "repair the address, the credential or the network, and synchronise the project again"
			l.add(f)
		case p.SyncedAt.IsZero():
			f.Severity, f.Problem = system.Notice, "the project was never synchronised"
			f.Fix = "synchronise the project to see whether it can be reached"
			l.add(f)
		case len(p.Hints) > 0 && p.Hints[0].Line == 0:
			f.Severity, f.Problem = system.Warning, clip(p.Hints[0].Path+" "+p.Hints[0].Message)
			f.Fix = "put the files into the repository; the hints of the project name every such link"
			l.add(f)
		case len(p.Hints) > 0:
			f.Severity, f.Problem = system.Notice, clip(fmt.Sprintf(
				"its playbooks have conditions that ansible-core 2.19 and newer refuse, the first in %s, line %d", p.Hints[0].Path,
				p.Hints[0].Line))
			f.Fix = "change what the hints of the project name"
			l.add(f)
		}
		return l.names(ctx, on, f.Link, object.References(nil).Add("", ids.Credential, p.CredentialID))
	})
}

func (l *catalogExamination) inventories(ctx context.Context) error {
	list := func(w page.Window) ([]catalog.Inventory, int, error) {
		return l.Inventories.ListInventories(ctx, access.Everything(), catalog.Filter{}, w)
	}
	return each(ctx, &l.survey, "inventories", list, func(i catalog.Inventory) error {
		l.note(i.ID, true)
		on, link := subject(i.Record), "/v1/inventories/"+i.ID
		if i.Hosts == 0 {
			l.add(system.Finding{
				Severity: system.Notice, Object: on, Problem: "the inventory has no hosts, so a run over it touches nothing",
				Fix: "add hosts to it, refresh the source that fills it, or delete it", Link: link,
			})
		}
		return l.names(ctx, on, link, object.References(nil).AddList("", ids.Credential, i.CredentialIDs))
	})
}

func (l *catalogExamination) sources(ctx context.Context) error {
	now := l.Clock.Now()
	list := func(w page.Window) ([]catalog.InventorySource, int, error) {
		return l.Sources.ListSources(ctx, access.Everything(), catalog.Filter{}, w)
	}
	return each(ctx, &l.survey, "inventory sources", list, func(s catalog.InventorySource) error {
		on, link := subject(s.Record), "/v1/inventory-sources/"+s.ID
		f := system.Finding{Severity: system.Warning, Object: on, Link: link}
		switch {
		case s.LastError != "":
			f.Problem = "the source could not be refreshed, so its inventory stays as it was: " + clip(s.LastError)
			f.Fix = "correct the settings of the source, and refresh it again"
			l.add(f)
		case overdue(s, now):
			f.Problem = fmt.Sprintf("the source is to be refreshed every %d seconds, and was not for more than twice as long",
				s.SyncInterval)
			f.Fix = "look for refreshes in the server's log, and refresh the source"
			l.add(f)
		}
		return l.names(ctx, on, link, object.References(nil).Add("", ids.Inventory, s.InventoryID).
			Add("", ids.Project, s.ProjectID).Add("", ids.Credential, s.CredentialID))
	})
}

// overdue reports whether the last refresh of the source, or its last change by a caller, is more than two intervals
// ago.
func overdue(s catalog.InventorySource, now time.Time) bool {
	since := s.SyncedAt
	for _, at := range []time.Time{s.CreatedAt, s.UpdatedAt} {
		if at.After(since) {
			since = at
		}
	}
	return s.SyncInterval > 0 && now.Sub(since) > 2*time.Duration(s.SyncInterval)*time.Second
}

func (l *catalogExamination) templates(ctx context.Context) error {
	list := func(w page.Window) ([]catalog.Template, int, error) {
		return l.Templates.ListTemplates(ctx, access.Everything(), catalog.Filter{}, w)
	}
	return each(ctx, &l.survey, "templates", list, func(t catalog.Template) error {
		refs := object.References(nil).Add("", ids.Project, t.ProjectID).Add("", ids.Inventory, t.InventoryID).
			AddList("", ids.Credential, t.CredentialIDs).AddList("", ids.Credential, t.SelectableCredentialIDs)
		for i := range t.Steps {
			refs = refs.Add("", ids.Inventory, t.Steps[i].InventoryID).
				AddList("", ids.Credential, t.Steps[i].CredentialIDs)
		}
		return l.names(ctx, subject(t.Record), "/v1/templates/"+t.ID, refs)
	})
}

func subject(r object.Record) system.Subject {
	return system.Subject{Kind: ids.KindOf(r.ID), ID: r.ID, Name: r.Name}
}

// names reports each missing object that an object refers to, once.
func (l *catalogExamination) names(ctx context.Context, on system.Subject, link string, refs object.References) error {
	for i, r := range refs {
		if slices.ContainsFunc(refs[:i], func(x object.Reference) bool { return x.ID == r.ID && x.Kind == r.Kind }) {
			continue
		}
		ok, err := l.exists(ctx, r)
		if err != nil {
			if err := l.skip(ctx, fmt.Errorf("look for %s: %w", r.ID, err)); err != nil {
				return err
			}
			continue
		}
		if !ok {
			what := ids.KindOf(string(r.Kind))
			l.add(system.Finding{
				Severity: system.Error, Object: on, Problem: fmt.Sprintf("it names the %s %s, which does not exist", what,
					clip(r.ID)),
				Fix: "change it to name another " + what + ", or delete it", Link: link,
			})
		}
	}
	return nil
}

func (l *catalogExamination) exists(ctx context.Context, r object.Reference) (bool, error) {
	if ok, known := l.known[r.ID]; known {
		return ok, nil
	}
	var ok bool
	var err error
	switch {
	case r.Kind != ids.Credential:
		ok, err = l.References.Exists(ctx, r.Kind, r.ID)
	case l.Credentials != nil:
		ok, err = l.Credentials.Exists(ctx, r.ID)
	}
	if err == nil {
		l.note(r.ID, ok)
	}
	return ok, err
}

// note caches whether an object exists, up to a limit, because many objects share references.
func (l *catalogExamination) note(id string, exists bool) {
	if len(l.known) < 4*maxObjects {
		l.known[id] = exists
	}
}
