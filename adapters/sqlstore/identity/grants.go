package identity

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

// Errors: GrantExists also for an id that exists.
func (s *Store) InsertGrant(ctx context.Context, g identity.Grant) (first bool, err error) {
	if !g.Level.Valid() {
		return false, fault.BadField("level", "not a level")
	}
	q, err := s.lockRights(ctx)
	if err != nil {
		return false, err
	}
	if err := checkSubject(ctx, q, g.Subject); err != nil {
		return false, err
	}
	restricted, err := grantable(ctx, q, g.Object)
	if err != nil {
		return false, err
	}
	n, err := db.Modify(ctx, insertNew(q.NewInsert().Model(&grant{grantColumns: grantColumns(g)})))
	switch {
	case err != nil:
		return false, fmt.Errorf("store a grant: %w", err)
	case n == 0:
		return false, identity.GrantExists.New("%s has %s on %s already", g.Subject, g.Level, g.Object)
	}
	if !restricted {
		if err := restrict(ctx, q, g.Object, true); err != nil {
			return false, err
		}
	}
	return !restricted, recordChange(ctx, q, ofObject(g.Object))
}

// checkSubject returns the fault of a missing subject.
func checkSubject(ctx context.Context, q bun.IDB, subject string) error {
	kind, id, ok := identity.SubjectID(subject)
	var err error
	var missing *fault.Error
	switch {
	case !ok:
		return fault.BadField("subject", "neither user:<id> nor team:<id>")
	case kind == ids.Team:
		ok, err = teamGroups.present(ctx, q, id)
		missing = teamGroups.none(id)
	default:
		ok, err = hasUser(ctx, q, id)
		missing = identity.UserNotFound.New("no user %q", id)
	}
	switch {
	case err != nil:
		return fmt.Errorf("look for a subject: %w", err)
	case !ok:
		return naming("subject", missing)
	}
	return nil
}

// grantable reports whether an existing object is restricted. It registers an unknown or removed queue.
func grantable(ctx context.Context, q bun.IDB, id string) (restricted bool, err error) {
	if identity.KindOf(id) == identity.KindQueue {
		if _, err := insertObject(ctx, q, identity.Object{ID: id}); err != nil {
			return false, err
		}
	}
	o, ok, err := storedObject(ctx, q, id)
	switch {
	case err != nil:
		return false, err
	case ok && o.Gone && identity.KindOf(id) == identity.KindQueue:
		return o.Restricted, replaceObject(ctx, q, identity.Object{ID: id})
	case !ok || o.Gone:
		return false, naming("object", identity.ObjectNotFound.New("no object %q", id))
	}
	return o.Restricted, nil
}

func restrict(ctx context.Context, q bun.IDB, id string, restricted bool) error {
	_, err := db.Modify(ctx, q.NewUpdate().Model((*object)(nil)).Set("restricted = ?", restricted).Where("o.id = ?", id))
	return db.Wrap(err, "restrict an object")
}

func noGrant(id string) error { return identity.GrantNotFound.New("no grant %q", id) }

func (s *Store) GrantByID(ctx context.Context, id string) (identity.Grant, error) {
	var row grant
	ok, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model(&row).Where("g.id = ? AND NOT g.hidden", id))
	return identity.Grant(row.grantColumns), db.OrMissing(ok, db.Wrap(err, "read a grant"), noGrant(id))
}

// They are sorted by creation.
func (s *Store) ListGrants(ctx context.Context, f identity.GrantFilter, w page.Window) ([]identity.Grant, int, error) {
	var rows []grant
	q := s.d.Read(ctx).NewSelect().Model(&rows).Where("NOT g.hidden")
	if f.Subject != "" {
		q.Where("g.subject = ?", f.Subject)
	}
	if f.Object != "" {
		q.Where("g.object = ?", f.Object)
	}
	n, err := db.Total(ctx, q)
	if err == nil {
		err = q.OrderExpr("g.created_at, g.id").Apply(db.Window(w)).Scan(ctx)
	}
	if err != nil {
		return nil, 0, db.Wrap(err, "list grants")
	}
	out := db.Convert(rows, func(r grant) identity.Grant { return identity.Grant(r.grantColumns) })
	return out, n, nil
}

func (s *Store) DeleteGrant(ctx context.Context, id string) error {
	q, err := s.lockRights(ctx)
	if err != nil {
		return err
	}
	var row grant
	ok, err := db.First(ctx, q.NewDelete().Model(&row).Where("g.id = ? AND NOT g.hidden", id).Returning("object"))
	switch {
	case err != nil:
		return fmt.Errorf("delete a grant: %w", err)
	case !ok:
		return noGrant(id)
	}
	left, err := q.NewSelect().Model((*grant)(nil)).Where("g.object = ?", row.Object).Exists(ctx)
	if err != nil {
		return db.Wrap(err, "look for more grants")
	}
	if !left {
		if err := restrict(ctx, q, row.Object, false); err != nil {
			return err
		}
	}
	return recordChange(ctx, q, ofObject(row.Object))
}
