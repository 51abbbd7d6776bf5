package identity

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

func storedObject(ctx context.Context, q bun.IDB, id string) (o object, ok bool, err error) {
	if ok, err = db.First(ctx, q.NewSelect().Model(&o).Where("o.id = ?", id)); err != nil {
		err = fmt.Errorf("read an object: %w", err)
	}
	return o, ok, err
}

// insertObject stores an unknown object; fresh reports whether it did.
func insertObject(ctx context.Context, q bun.IDB, o identity.Object) (fresh bool, err error) {
	n, err := db.Modify(ctx, insertNew(q.NewInsert().Model(&object{ID: o.ID, Kind: identity.KindOf(o.ID), Org: o.Org})))
	return n > 0, db.Wrap(err, "store an object")
}

// A new object without an organization changes no rights and takes no lock. A removed object returns with its grants.
func (s *Store) PutObject(ctx context.Context, o identity.Object) error {
	q := s.d.InUnit(ctx)
	if identity.KindOf(o.ID) == "" {
		return &fault.Error{Kind: fault.Internal, Message: fmt.Sprintf("%q can carry no grant", o.ID)}
	}
	if o.Org != "" && identity.KindOf(o.ID) == identity.KindQueue {
		return &fault.Error{Kind: fault.Internal, Message: fmt.Sprintf("%q can belong to no organization", o.ID)}
	}
	if o.Org == "" {
		if fresh, err := insertObject(ctx, q, o); err != nil || fresh {
			return err
		}
	}
	if is, ok, err := storedObject(ctx, q, o.ID); err != nil || ok && !is.Gone && is.Org == o.Org {
		return err
	}
	if err := s.lock(ctx, q); err != nil {
		return err
	}
	if o.Org != "" {
		if ok, err := orgGroups.present(ctx, q, o.Org); err != nil || !ok {
			return orMissing(err, naming("org_id", orgGroups.none(o.Org)))
		}
	}
	fresh, err := insertObject(ctx, q, o)
	if err == nil && !fresh {
		err = replaceObject(ctx, q, o)
	}
	if err != nil {
		return err
	}
	return recordChange(ctx, q, ofObject(o.ID))
}

func replaceObject(ctx context.Context, q bun.IDB, o identity.Object) error {
	_, err := db.Modify(ctx, q.NewUpdate().Model((*object)(nil)).Set("org_id = ?, gone = FALSE", db.OrNull(o.Org)).
		Where("o.id = ?", o.ID))
	if err == nil {
		_, err = db.Modify(ctx, q.NewUpdate().Model((*grant)(nil)).Set("hidden = FALSE").
			Where("g.object = ? AND g.hidden", o.ID))
	}
	return db.Wrap(err, "change an object")
}

func (s *Store) RemoveObject(ctx context.Context, id string) error {
	q, err := s.lockRights(ctx)
	if err != nil {
		return err
	}
	n, err := db.Modify(ctx, q.NewUpdate().Model((*object)(nil)).Set("gone = TRUE").Where("o.id = ? AND NOT o.gone", id))
	if err != nil {
		return fmt.Errorf("remove an object: %w", err)
	}
	if n == 0 {
		return nil
	}
	if _, err := db.Modify(ctx, q.NewUpdate().Model((*grant)(nil)).Set("hidden = TRUE").
		Where("g.object = ?", id)); err != nil {
		return fmt.Errorf("hide the grants of an object: %w", err)
	}
	return recordChange(ctx, q, ofObject(id))
}
