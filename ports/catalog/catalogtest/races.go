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
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// addKnown stores a registered project.
func (e *env) addKnown(t *testing.T) catalog.Project {
	t.Helper()
	p := projects(e).Add(t, e.Env)
	e.Know(t, p.ID, "")
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
		txtest.NoError(t, deleted)
		txtest.WantFault(t, err, catalog.ProjectNotFound)
	default:
		txtest.WantFault(t, deleted, object.InUse)
		txtest.NoError(t, err)
	}
}

// namingRace deletes a project while a template that refers to it is stored. Exactly one of the two succeeds.
func namingRace(t *testing.T, e *env) {
	for range 25 {
		p := e.addKnown(t)
		tpl := catalog.Template{Record: e.Record(ids.Template, ""), TemplateSpec: catalog.TemplateSpec{ProjectID: p.ID}}
		var named, deleted error
		txtest.Together(2, func(i int) {
			if i == 0 {
				named = e.Do(t, func(ctx context.Context) error { return e.launches(ctx, tpl) })
				return
			}
			deleted = e.Do(t, func(ctx context.Context) error { return e.forget(ctx, p.ID) })
		})
		_, err := e.Templates.TemplateByID(t.Context(), tpl.ID)
		if named == nil {
			txtest.NoError(t, err)
			e.settled(t, p.ID, deleted, []string{tpl.ID})
			continue
		}
		txtest.WantFault(t, named, catalog.ObjectNotFound)
		txtest.WantFault(t, err, catalog.TemplateNotFound)
		e.settled(t, p.ID, deleted, nil)
	}
}

// namingCrowd stores many references to a project while several units delete it.
func namingCrowd(t *testing.T, e *env) {
	for range 8 {
		p := e.addKnown(t)
		owners, deleted := make([]string, txtest.Crowd), error(nil)
		var removals atomic.Int64
		txtest.Together(txtest.Crowd+1, func(i int) {
			if i == txtest.Crowd {
				if deleted = e.Do(t, func(ctx context.Context) error { return e.forget(ctx, p.ID) }); deleted == nil {
					removals.Add(1)
				}
				return
			}
			owner := e.ID(ids.Schedule)
			err := e.Do(t, func(ctx context.Context) error { return e.Usage.Name(ctx, owner, []string{p.ID}) })
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
		id, owner := e.ID(ids.Inventory), e.ID(ids.Template)
		var named error
		txtest.Together(2, func(i int) {
			if i == 0 {
				named = e.Do(t, func(ctx context.Context) error { return e.Usage.Name(ctx, owner, []string{id}) })
				return
			}
			if err := e.Do(t, func(ctx context.Context) error {
				return e.Objects.PutObject(ctx, identity.Object{ID: id})
			}); err != nil {
				t.Errorf("put: %v", err)
			}
		})
		if named == nil {
			e.usedBy(t, id, owner)
			continue
		}
		txtest.WantFault(t, named, catalog.ObjectNotFound)
		e.usedBy(t, id)
	}
}

// oneOwner changes the references of one object concurrently. Each change locks the owner's row, as an update does, so
// the final references are those of one change.
func oneOwner(t *testing.T, e *env) {
	s := templates(e)
	tpl := s.Add(t, e.Env)
	targets := make([]string, txtest.Crowd)
	for i := range targets {
		targets[i] = e.Known(t, ids.Inventory)
	}
	txtest.Together(txtest.Crowd, func(i int) {
		next := tpl
		next.InventoryID = targets[i]
		err := e.Do(t, func(ctx context.Context) error {
			if _, err := s.Update(ctx, next, 0); err != nil {
				return err
			}
			return e.Usage.Name(ctx, tpl.ID, []string{targets[i]})
		})
		if err != nil {
			t.Errorf("change: %v", err)
		}
	})
	is := s.Get(t, tpl.ID)
	for _, target := range targets {
		if target == is.InventoryID {
			e.usedBy(t, target, tpl.ID)
			continue
		}
		e.usedBy(t, target)
	}
}
