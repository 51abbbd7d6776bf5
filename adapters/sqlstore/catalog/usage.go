package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
)

// targetsPerStatement is the maximum number of targets per statement.
const targetsPerStatement = 500

// Empty targets are ignored.
func (s *Store) Name(ctx context.Context, owner string, targets []string) error {
	q := s.d.InUnit(ctx)
	once := slices.DeleteFunc(slices.Sorted(slices.Values(targets)), func(t string) bool { return t == "" })
	once = slices.Compact(once)
	locked, err := s.lock(ctx, q, once)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if t != "" && !locked[t] {
			return catalog.ObjectNotFound.New("no object %q", t).With("id", t)
		}
	}
	changes := []db.Statement{{Query: "DELETE FROM object_refs WHERE owner = ?", Args: []any{owner}}}
	for part := range slices.Chunk(once, targetsPerStatement) {
		insert := db.Statement{Query: "INSERT INTO object_refs (owner, target) VALUES (?, ?)" +
			strings.Repeat(", (?, ?)", len(part)-1) + " ON CONFLICT DO NOTHING"}
		for _, t := range part {
			insert.Args = append(insert.Args, owner, t)
		}
		changes = append(changes, insert)
	}
	_, err = s.dialect.Together(ctx, q, changes...)
	return db.Wrap(err, "store the references of an object")
}

// lock locks objects against deletion until the unit ends and returns those that exist. It locks in the order of the
// list, which is sorted by id, so that units do not deadlock.
func (s *Store) lock(ctx context.Context, q bun.IDB, list []string) (map[string]bool, error) {
	locked := make(map[string]bool, len(list))
	for part := range slices.Chunk(list, targetsPerStatement) {
		var found []struct{ ID, Kind string }
		err := q.NewSelect().Table("access_objects").Column("id", "kind").
			Where("id IN (?) AND NOT gone", bun.In(part)).OrderExpr("id").
			Apply(s.dialect.LockShare).Scan(ctx, &found)
		if err != nil {
			return nil, db.Wrap(err, "lock the references of an object")
		}
		for _, o := range found {
			locked[o.ID] = o.Kind == ids.KindOf(o.ID)
		}
	}
	return locked, nil
}

// The referring objects are ordered by id.
func (s *Store) UsedBy(ctx context.Context, id string, limit int) ([]object.Use, int, error) {
	users := s.d.Read(ctx).NewSelect().Model((*objects.Reference)(nil)).Column("owner").Where("target = ?", id)
	n, err := db.Total(ctx, users)
	var found []string
	if err == nil {
		err = users.OrderExpr("owner").Apply(db.AtMost(limit)).Scan(ctx, &found)
	}
	if err != nil {
		return nil, 0, db.Wrap(err, "read the references to an object")
	}
	uses := make([]object.Use, len(found))
	for i, owner := range found {
		uses[i] = object.Use{Kind: ids.KindOf(owner), ID: owner}
	}
	return uses, n, nil
}
