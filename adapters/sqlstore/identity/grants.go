package identity

import (
	"context"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

const grantColumns = "id, subject, object, level, created_at, created_by"

// InsertGrant implements identity.GrantStore. An id that exists is GrantExists as well.
func (s *Store) InsertGrant(ctx context.Context, g identity.Grant) (first bool, err error) {
	if !g.Level.Valid() {
		return false, fault.BadField("level", "not a level")
	}
	q, err := s.writing(ctx)
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
	n, err := exec(ctx, q, "INSERT INTO grants (id, subject, object, level, created_at, created_by, hidden) VALUES (?, ?, ?, ?, ?, ?, FALSE) "+
		"ON CONFLICT DO NOTHING", g.ID, g.Subject, g.Object, string(g.Level), db.At(g.CreatedAt), g.CreatedBy)
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
	return !restricted, changed(ctx, q, object(g.Object))
}

// checkSubject returns the fault of a subject that is not there.
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

// grantable returns whether a live object is restricted. A queue becomes known, or known again, by being named.
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
	case ok && o.gone && identity.KindOf(id) == identity.KindQueue:
		return o.restricted, replaceObject(ctx, q, identity.Object{ID: id})
	case !ok || o.gone:
		return false, naming("object", identity.ObjectNotFound.New("no object %q", id))
	}
	return o.restricted, nil
}

func restrict(ctx context.Context, q bun.IDB, id string, restricted bool) error {
	if _, err := exec(ctx, q, "UPDATE access_objects SET restricted = ? WHERE id = ?", restricted, id); err != nil {
		return fmt.Errorf("restrict an object: %w", err)
	}
	return nil
}

func noGrant(id string) error { return identity.GrantNotFound.New("no grant %q", id) }

// GrantByID implements identity.GrantStore.
func (s *Store) GrantByID(ctx context.Context, id string) (identity.Grant, error) {
	g, ok, err := db.One(ctx, s.d.Read(ctx), scanGrant, "SELECT "+grantColumns+" FROM grants WHERE id = ? AND NOT hidden", id)
	switch {
	case err != nil:
		return identity.Grant{}, fmt.Errorf("read a grant: %w", err)
	case !ok:
		return identity.Grant{}, noGrant(id)
	}
	return g, nil
}

// ListGrants implements identity.GrantStore. They are in the order of their creation.
func (s *Store) ListGrants(ctx context.Context, f identity.GrantFilter, w page.Window) ([]identity.Grant, int, error) {
	q := s.d.Read(ctx)
	parts, args := []string{"NOT hidden"}, []any(nil)
	if f.Subject != "" {
		parts, args = append(parts, "subject = ?"), append(args, f.Subject)
	}
	if f.Object != "" {
		parts, args = append(parts, "object = ?"), append(args, f.Object)
	}
	where := " FROM grants WHERE " + strings.Join(parts, " AND ")
	n, err := count(ctx, q, "SELECT count(*)"+where, args...)
	if err != nil {
		return nil, 0, fmt.Errorf("count grants: %w", err)
	}
	found, err := db.All(ctx, q, scanGrant, "SELECT "+grantColumns+where+" ORDER BY created_at, id LIMIT ? OFFSET ?",
		append(args, w.Rows(), w.Offset)...)
	if err != nil {
		return nil, 0, fmt.Errorf("list grants: %w", err)
	}
	return found, n, nil
}

// DeleteGrant implements identity.GrantStore.
func (s *Store) DeleteGrant(ctx context.Context, id string) error {
	q, err := s.writing(ctx)
	if err != nil {
		return err
	}
	on, ok, err := db.One(ctx, q, text, "DELETE FROM grants WHERE id = ? AND NOT hidden RETURNING object", id)
	switch {
	case err != nil:
		return fmt.Errorf("delete a grant: %w", err)
	case !ok:
		return noGrant(id)
	}
	left, err := exists(ctx, q, "SELECT 1 FROM grants WHERE object = ? LIMIT 1", on)
	if err != nil {
		return fmt.Errorf("look for more grants: %w", err)
	}
	if !left {
		if err := restrict(ctx, q, on, false); err != nil {
			return err
		}
	}
	return changed(ctx, q, object(on))
}

func scanGrant(r db.Row) (g identity.Grant, err error) {
	var created db.Time
	err = r.Scan(&g.ID, &g.Subject, &g.Object, &g.Level, &created, &g.CreatedBy)
	g.CreatedAt = created.Time
	return g, err
}
