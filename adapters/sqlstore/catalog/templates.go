package catalog

import (
	"context"

	"github.com/writ-automation/writ/adapters/sqlstore/pack"
	"github.com/writ-automation/writ/adapters/sqlstore/shelf"
	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

func templates() shelf.Kind[catalog.Template] {
	return shelf.Kind[catalog.Template]{
		Table: "templates", Noun: "template", Missing: catalog.TemplateNotFound, Scan: scanTemplate, Columns: []string{"spec"},
	}
}

// InsertTemplate implements catalog.TemplateStore.
func (s *Store) InsertTemplate(ctx context.Context, t catalog.Template) error {
	spec, err := pack.Document(t.TemplateSpec)
	if err != nil {
		return err
	}
	return templates().Insert(ctx, s.d, t.Record, spec)
}

// TemplateByID implements catalog.TemplateStore.
func (s *Store) TemplateByID(ctx context.Context, id string) (catalog.Template, error) {
	return templates().ByID(ctx, s.d.Read(ctx), id)
}

// ListTemplates implements catalog.TemplateStore. They are by name and id.
func (s *Store) ListTemplates(ctx context.Context, sc access.Scope, f catalog.Filter, w page.Window) ([]catalog.Template, int, error) {
	return templates().List(ctx, s.d.Read(ctx), shelf.Where(visible.Those(sc, identity.KindTemplate, "o.id")), f, w)
}

// UpdateTemplate implements catalog.TemplateStore.
func (s *Store) UpdateTemplate(ctx context.Context, t catalog.Template, revision int64) (catalog.Template, error) {
	q, err := templates().Held(ctx, s.d, t.ID, revision)
	if err != nil {
		return catalog.Template{}, err
	}
	spec, err := pack.Document(t.TemplateSpec)
	if err != nil {
		return catalog.Template{}, err
	}
	return templates().Update(ctx, q, t.Record, "spec = ?", spec)
}

// DeleteTemplate implements catalog.TemplateStore. What the template names goes with it.
func (s *Store) DeleteTemplate(ctx context.Context, id string, revision int64) error {
	return templates().Remove(ctx, s.d, id, revision)
}

func scanTemplate(r db.Row) (t catalog.Template, err error) {
	var at shelf.Stamps
	var spec string
	if err := r.Scan(append(shelf.Targets(&t.Record, &at), &spec)...); err != nil {
		return t, err
	}
	at.Set(&t.Record)
	return t, pack.Read(spec, &t.TemplateSpec)
}
