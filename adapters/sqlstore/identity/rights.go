package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
)

// One statement reads the rights, so that they are a consistent snapshot. Its rows are of several kinds with three
// texts each: the state (version, version up to which changes are deleted), a change (kind, name), an object (id,
// organization, x if it is restricted), a grant (object, subject, level), a membership in a team (account, team) and
// an admin of an organization (account, organization).
const (
	stateRows = "SELECT 's' AS kind, CAST(version AS TEXT) AS a, CAST(forgotten AS TEXT) AS b, '' AS c FROM " +
		"access_state WHERE id = 1"
	changeRows = "SELECT DISTINCT 'c', kind, name, '' FROM access_changes WHERE version > ?"
	objectRows = "SELECT 'o', id, COALESCE(org_id, ''), CASE WHEN restricted THEN 'x' ELSE '' END FROM access_objects"
	grantRows  = "SELECT 'g', object, subject, level FROM grants"
	teamRows   = "SELECT 't', user_id, team_id, '' FROM team_members"
	adminRows  = "SELECT 'a', user_id, org_id, '' FROM org_members WHERE role = 'admin'"

	union        = " UNION ALL "
	amongObjects = " IN (SELECT name FROM access_changes WHERE version > ? AND kind = 'object')"
	amongUsers   = " IN (SELECT name FROM access_changes WHERE version > ? AND kind = 'user')"
)

// An object without restriction and organization has no grants.
func (s *Store) LoadRights(ctx context.Context) (identity.Rights, error) {
	r, _, err := readRights(ctx, s.d.Read(ctx), stateRows+union+objectRows+" WHERE restricted OR org_id IS NOT NULL"+
		union+grantRows+union+teamRows+union+adminRows)
	if err != nil {
		return identity.Rights{}, fmt.Errorf("load the rights: %w", err)
	}
	return r, nil
}

// A version that was never reached, such as after a restored backup, gives ok false.
func (s *Store) RightsSince(ctx context.Context, version int64) (r identity.Rights, ok bool, err error) {
	r, forgotten, err := readRights(ctx, s.d.Read(ctx), stateRows+union+changeRows+union+
		objectRows+" WHERE id"+amongObjects+union+grantRows+" WHERE object"+amongObjects+union+
		teamRows+" WHERE user_id"+amongUsers+union+adminRows+" AND user_id"+amongUsers, version, version, version, version,
		version)
	switch {
	case err != nil:
		return identity.Rights{}, false, fmt.Errorf("read the changes of rights: %w", err)
	case version < forgotten || version > r.Version:
		return identity.Rights{}, false, nil
	}
	return r, true, nil
}

func (s *Store) RightsVersion(ctx context.Context) (int64, error) {
	var state accessState
	_, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model(&state).Column("version").Where("s.id = 1"))
	return state.Version, db.Wrap(err, "read the version of rights")
}

func (s *Store) ForgetChanges(ctx context.Context, keep int) error {
	q, err := s.lockRights(ctx)
	if err != nil {
		return err
	}
	keep = max(keep, 0)
	n, err := db.Modify(ctx, q.NewUpdate().Model((*accessState)(nil)).Set("forgotten = version - ?", keep).
		Where("s.id = 1 AND s.forgotten < s.version - ?", keep))
	if err == nil && n > 0 {
		_, err = db.Modify(ctx, q.NewDelete().Model((*accessChange)(nil)).Where("c.version <= (?)",
			q.NewSelect().Model((*accessState)(nil)).Column("forgotten").Where("s.id = 1")))
	}
	return db.Wrap(err, "forget changes of rights")
}

// readRights runs a statement with the rows above. The result is sorted.
func readRights(
	ctx context.Context, q bun.IDB, query string, args ...any,
) (r identity.Rights, forgotten int64, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return identity.Rights{}, 0, db.Translate(err)
	}
	g := collector{objects: make(map[string]int), users: make(map[string]int)}
	for rows.Next() {
		var kind, a, b, c string
		if err = rows.Scan(&kind, &a, &b, &c); err == nil {
			err = g.add(kind, a, b, c)
		}
		if err != nil {
			break
		}
	}
	if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return identity.Rights{}, 0, db.Translate(err)
	}
	return g.sorted(), g.forgotten, nil
}

// collector combines rows to rights.
type collector struct {
	rights         identity.Rights
	forgotten      int64
	objects, users map[string]int
}

func (g *collector) add(kind, a, b, c string) (err error) {
	switch kind {
	case "s":
		var bad error
		g.rights.Version, err = strconv.ParseInt(a, 10, 64)
		g.forgotten, bad = strconv.ParseInt(b, 10, 64)
		return errors.Join(err, bad)
	case "c":
		if a == changedUser {
			g.user(b)
		} else {
			g.object(b)
		}
	case "o":
		o := g.object(a)
		o.Org, o.Restricted = b, c != ""
	case "g":
		o := g.object(a)
		o.Grants = append(o.Grants, identity.SubjectLevel{Subject: b, Level: access.Level(c)})
	case "t":
		u := g.user(a)
		u.Teams = append(u.Teams, b)
	case "a":
		u := g.user(a)
		u.Admin = append(u.Admin, b)
	}
	return nil
}

func (g *collector) object(id string) *identity.ObjectRights {
	i, ok := g.objects[id]
	if !ok {
		i = len(g.rights.Objects)
		g.objects[id] = i
		g.rights.Objects = append(g.rights.Objects, identity.ObjectRights{Object: id})
	}
	return &g.rights.Objects[i]
}

func (g *collector) user(id string) *identity.UserRights {
	i, ok := g.users[id]
	if !ok {
		i = len(g.rights.Users)
		g.users[id] = i
		g.rights.Users = append(g.rights.Users, identity.UserRights{UserID: id})
	}
	return &g.rights.Users[i]
}

func (g *collector) sorted() identity.Rights {
	r := g.rights
	slices.SortFunc(r.Objects, func(a, b identity.ObjectRights) int { return cmp.Compare(a.Object, b.Object) })
	slices.SortFunc(r.Users, func(a, b identity.UserRights) int { return cmp.Compare(a.UserID, b.UserID) })
	for _, o := range r.Objects {
		slices.SortFunc(o.Grants, func(a, b identity.SubjectLevel) int {
			return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Level, b.Level))
		})
	}
	for _, u := range r.Users {
		slices.Sort(u.Teams)
		slices.Sort(u.Admin)
	}
	return r
}
