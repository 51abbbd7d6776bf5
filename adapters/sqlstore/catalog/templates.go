package catalog

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

type template struct {
	bun.BaseModel `bun:"table:templates,alias:o"`
	objects.Record
	Spec catalog.TemplateSpec
}

func templateRow(t catalog.Template) template {
	return template{Record: objects.Record(t.Record), Spec: t.TemplateSpec}
}

func (t template) Object() catalog.Template {
	return catalog.Template{Record: object.Record(t.Record), TemplateSpec: t.Spec}
}

var templates = objects.Kind[catalog.Template, template]{Noun: "template", Missing: catalog.TemplateNotFound}

func (s *Store) InsertTemplate(ctx context.Context, t catalog.Template) error {
	return templates.Insert(ctx, s.d, templateRow(t))
}

func (s *Store) TemplateByID(ctx context.Context, id string) (catalog.Template, error) {
	return templates.ByID(ctx, s.d.Read(ctx), id)
}

// They are ordered by name and id.
func (s *Store) ListTemplates(
	ctx context.Context, sc access.Scope, f catalog.Filter, w page.Window,
) ([]catalog.Template, int, error) {
	return templates.List(ctx, s.d.Read(ctx), objects.Where(visible.Those(sc, identity.KindTemplate, "o.id")), f, w)
}

func (s *Store) UpdateTemplate(ctx context.Context, t catalog.Template, revision int64) (catalog.Template, error) {
	return templates.Update(ctx, s.d, templateRow(t), revision)
}

// The references of the template are deleted with it.
func (s *Store) DeleteTemplate(ctx context.Context, id string, revision int64) error {
	return templates.Remove(ctx, s.d, id, revision)
}
