package catalogtest

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
)

// addKnown stores a registered project.
func (e *env) addKnown(t *testing.T) catalog.Project {
	t.Helper()
	p := add(t, e, projects(e))
	e.know(t, p.ID, "")
	return p
}

// forget deletes a project as a context does. It removes the registration first, against new references, and fails if a
// reference exists.
func (e *env) forget(ctx context.Context, id string) error {
	if err := e.Objects.RemoveObject(ctx, id); err != nil {
		return err
	}
	_, n, err := e.Usage.UsedBy(ctx, id, object.MaxUses)
	if err != nil {
		return err
	}
	if n > 0 {
		return object.InUse.New("%d objects name it", n)
	}
	return e.Projects.DeleteProject(ctx, id, 0)
}

// launches saves a template with its references, as a context does.
func (e *env) launches(ctx context.Context, tpl catalog.Template) error {
	if err := e.Objects.PutObject(ctx, identity.Object{ID: tpl.ID}); err != nil {
		return err
	}
	if err := e.Templates.InsertTemplate(ctx, tpl); err != nil {
		return err
	}
	return e.Usage.Name(ctx, tpl.ID, []string{tpl.ProjectID})
}

// settled requires the project to be either deleted and without references, or stored and referenced by the owners.
func (e *env) settled(t *testing.T, project string, deleted error, owners []string) {
	t.Helper()
	_, err := e.Projects.ProjectByID(t.Context(), project)
	e.usedBy(t, project, owners...)
	switch {
	case len(owners) == 0:
		noError(t, deleted)
		wantFault(t, err, catalog.ProjectNotFound)
	default:
		wantFault(t, deleted, object.InUse)
		noError(t, err)
	}
}

// namingRace deletes a project while a template that refers to it is stored. Exactly one of the two succeeds.
func namingRace(t *testing.T, e *env) {
	for range 25 {
		p := e.addKnown(t)
		tpl := catalog.Template{Record: e.record(ids.Template, ""), TemplateSpec: catalog.TemplateSpec{ProjectID: p.ID}}
		var named, deleted error
		together(2, func(i int) {
			if i == 0 {
				named = e.do(t, func(ctx context.Context) error { return e.launches(ctx, tpl) })
				return
			}
			deleted = e.do(t, func(ctx context.Context) error { return e.forget(ctx, p.ID) })
		})
		_, err := e.Templates.TemplateByID(t.Context(), tpl.ID)
		if named == nil {
			noError(t, err)
			e.settled(t, p.ID, deleted, []string{tpl.ID})
			continue
		}
		wantFault(t, named, catalog.ObjectNotFound)
		wantFault(t, err, catalog.TemplateNotFound)
		e.settled(t, p.ID, deleted, nil)
	}
}

// namingCrowd stores many references to a project while several units delete it.
func namingCrowd(t *testing.T, e *env) {
	for range 8 {
		p := e.addKnown(t)
		owners, deleted := make([]string, crowd), error(nil)
		var removals atomic.Int64
		together(crowd+1, func(i int) {
			if i == crowd {
				if deleted = e.do(t, func(ctx context.Context) error { return e.forget(ctx, p.ID) }); deleted == nil {
					removals.Add(1)
				}
				return
			}
			owner := e.id(ids.Schedule)
			err := e.do(t, func(ctx context.Context) error { return e.Usage.Name(ctx, owner, []string{p.ID}) })
			switch {
			case err == nil:
				owners[i] = owner
			case !catalog.ObjectNotFound.Is(err):
				t.Errorf("name: %v", err)
			}
		})
		owners = slices.DeleteFunc(owners, func(o string) bool { return o == "" })
		slices.Sort(owners)
		if removals.Load() == 1 && len(owners) > 0 {
			t.Fatalf("the project is gone and %v name it", owners)
		}
		e.settled(t, p.ID, deleted, owners)
	}
}

// namingNew refers to an object while it is created. The reference is either stored or NotFound.
func namingNew(t *testing.T, e *env) {
	for range 15 {
		id, owner := e.id(ids.Inventory), e.id(ids.Template)
		var named error
		together(2, func(i int) {
			if i == 0 {
				named = e.do(t, func(ctx context.Context) error { return e.Usage.Name(ctx, owner, []string{id}) })
				return
			}
			if err := e.do(t, func(ctx context.Context) error {
				return e.Objects.PutObject(ctx, identity.Object{ID: id})
			}); err != nil {
				t.Errorf("put: %v", err)
			}
		})
		if named == nil {
			e.usedBy(t, id, owner)
			continue
		}
		wantFault(t, named, catalog.ObjectNotFound)
		e.usedBy(t, id)
	}
}

// oneOwner changes the references of one object concurrently. Each change locks the owner's row, as an update does, so
// the final references are those of one change.
func oneOwner(t *testing.T, e *env) {
	s := templates(e)
	tpl := add(t, e, s)
	targets := make([]string, crowd)
	for i := range targets {
		targets[i] = e.known(t, ids.Inventory)
	}
	together(crowd, func(i int) {
		next := tpl
		next.InventoryID = targets[i]
		err := e.do(t, func(ctx context.Context) error {
			if _, err := s.update(ctx, next, 0); err != nil {
				return err
			}
			return e.Usage.Name(ctx, tpl.ID, []string{targets[i]})
		})
		if err != nil {
			t.Errorf("change: %v", err)
		}
	})
	is := get(t, s, tpl.ID)
	for _, target := range targets {
		if target == is.InventoryID {
			e.usedBy(t, target, tpl.ID)
			continue
		}
		e.usedBy(t, target)
	}
}
