package catalog

import (
	"context"

	"github.com/writ-automation/writ/adapters/sqlstore/pack"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

func templates() kind[catalog.Template] {
	return kind[catalog.Template]{
		table: "templates", noun: "template", missing: catalog.TemplateNotFound, scan: scanTemplate, columns: []string{"spec"},
	}
}

// InsertTemplate implements catalog.TemplateStore.
func (s *Store) InsertTemplate(ctx context.Context, t catalog.Template) error {
	spec, err := pack.Document(t.TemplateSpec)
	if err != nil {
		return err
	}
	return templates().insert(ctx, s, t.Record, spec)
}

// TemplateByID implements catalog.TemplateStore.
func (s *Store) TemplateByID(ctx context.Context, id string) (catalog.Template, error) {
	return templates().byID(ctx, s.d.Read(ctx), id)
}

// ListTemplates implements catalog.TemplateStore. They are by name and id.
func (s *Store) ListTemplates(ctx context.Context, sc access.Scope, f catalog.Filter, w page.Window) ([]catalog.Template, int, error) {
	return templates().list(ctx, s.d.Read(ctx), readable(sc, identity.KindTemplate, "o.id"), f, w)
}

// UpdateTemplate implements catalog.TemplateStore.
func (s *Store) UpdateTemplate(ctx context.Context, t catalog.Template, revision int64) (catalog.Template, error) {
	q, err := templates().held(ctx, s, t.ID, revision)
	if err != nil {
		return catalog.Template{}, err
	}
	spec, err := pack.Document(t.TemplateSpec)
	if err != nil {
		return catalog.Template{}, err
	}
	return templates().update(ctx, q, t.Record, "spec = ?", spec)
}

// DeleteTemplate implements catalog.TemplateStore. What the template names goes with it.
func (s *Store) DeleteTemplate(ctx context.Context, id string, revision int64) error {
	return templates().remove(ctx, s, id, revision)
}

func scanTemplate(r db.Row) (t catalog.Template, err error) {
	var at stamps
	var spec string
	if err := r.Scan(append(targets(&t.Record, &at), &spec)...); err != nil {
		return t, err
	}
	at.set(&t.Record)
	return t, pack.Read(spec, &t.TemplateSpec)
}
