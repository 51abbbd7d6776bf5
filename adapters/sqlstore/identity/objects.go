package identity

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// objectRow is what is stored about an object.
type objectRow struct {
	org              string
	restricted, gone bool
}

func storedObject(ctx context.Context, q bun.IDB, id string) (objectRow, bool, error) {
	o, ok, err := db.One(ctx, q, func(r db.Row) (o objectRow, err error) { return o, r.Scan(&o.org, &o.restricted, &o.gone) },
		"SELECT COALESCE(org_id, ''), restricted, gone FROM access_objects WHERE id = ?", id)
	if err != nil {
		err = fmt.Errorf("read an object: %w", err)
	}
	return o, ok, err
}

// insertObject stores an object that is not known; fresh says whether it did.
func insertObject(ctx context.Context, q bun.IDB, o identity.Object) (fresh bool, err error) {
	n, err := exec(ctx, q, "INSERT INTO access_objects (id, kind, org_id, restricted, gone) VALUES (?, ?, ?, FALSE, FALSE) "+
		"ON CONFLICT DO NOTHING",
		o.ID, identity.KindOf(o.ID), optional(o.Org))
	if err != nil {
		return false, fmt.Errorf("store an object: %w", err)
	}
	return n > 0, nil
}

// optional makes NULL of an empty text.
func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// PutObject implements identity.ObjectStore. A new object without an organization changes nobody's rights and takes no
// lock. One that was gone is back with the grants that it had.
func (s *Store) PutObject(ctx context.Context, o identity.Object) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
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
	if is, ok, err := storedObject(ctx, q, o.ID); err != nil || ok && !is.gone && is.org == o.Org {
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
	return changed(ctx, q, object(o.ID))
}

func replaceObject(ctx context.Context, q bun.IDB, o identity.Object) error {
	_, err := exec(ctx, q, "UPDATE access_objects SET org_id = ?, gone = FALSE WHERE id = ?", optional(o.Org), o.ID)
	if err == nil {
		_, err = exec(ctx, q, "UPDATE grants SET hidden = FALSE WHERE object = ? AND hidden", o.ID)
	}
	if err != nil {
		return fmt.Errorf("change an object: %w", err)
	}
	return nil
}

// RemoveObject implements identity.ObjectStore.
func (s *Store) RemoveObject(ctx context.Context, id string) error {
	q, err := s.writing(ctx)
	if err != nil {
		return err
	}
	n, err := exec(ctx, q, "UPDATE access_objects SET gone = TRUE WHERE id = ? AND NOT gone", id)
	if err != nil {
		return fmt.Errorf("remove an object: %w", err)
	}
	if n == 0 {
		return nil
	}
	if _, err := exec(ctx, q, "UPDATE grants SET hidden = TRUE WHERE object = ?", id); err != nil {
		return fmt.Errorf("hide the grants of an object: %w", err)
	}
	return changed(ctx, q, object(id))
}
