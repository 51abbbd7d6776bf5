package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/shelf"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
)

// together bounds how many targets one statement names.
const together = 500

// Name implements object.Usage. Empty targets name nothing.
func (s *Store) Name(ctx context.Context, owner string, targets []string) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	once := slices.DeleteFunc(slices.Clone(targets), func(t string) bool { return t == "" })
	slices.Sort(once)
	once = slices.Compact(once)
	held, err := s.hold(ctx, q, once)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if t != "" && !held[t] {
			return catalog.ObjectNotFound.New("no object %q", t).With("id", t)
		}
	}
	if _, err := db.Exec(ctx, q, "DELETE FROM object_refs WHERE owner = ?", owner); err != nil {
		return fmt.Errorf("forget what an object names: %w", err)
	}
	for part := range slices.Chunk(once, together) {
		args := make([]any, 0, 2*len(part))
		for _, t := range part {
			args = append(args, owner, t)
		}
		_, err := db.Exec(ctx, q, "INSERT INTO object_refs (owner, target) VALUES "+tuples(len(part))+" ON CONFLICT DO NOTHING", args...)
		if err != nil {
			return fmt.Errorf("note what an object names: %w", err)
		}
	}
	return nil
}

func tuples(n int) string {
	out := make([]byte, 0, n*len("(?, ?), "))
	for i := range n {
		if i > 0 {
			out = append(out, ", "...)
		}
		out = append(out, "(?, ?)"...)
	}
	return string(out)
}

// hold keeps objects from being removed until the unit ends and returns those that there are. They are locked in the order in
// which they come, which is that of their ids, so that no two wait for one another.
func (s *Store) hold(ctx context.Context, q bun.IDB, objects []string) (map[string]bool, error) {
	held := make(map[string]bool, len(objects))
	for part := range slices.Chunk(objects, together) {
		args := make([]any, len(part))
		for i, o := range part {
			args[i] = o
		}
		type object struct{ id, kind string }
		found, err := db.All(ctx, q, func(r db.Row) (o object, err error) { return o, r.Scan(&o.id, &o.kind) },
			"SELECT id, kind FROM access_objects WHERE id IN ("+shelf.Marks(len(part))+") AND NOT gone ORDER BY id"+s.say.ForShare(), args...)
		if err != nil {
			return nil, fmt.Errorf("hold what an object names: %w", err)
		}
		for _, o := range found {
			held[o.id] = o.kind == ids.KindOf(o.id)
		}
	}
	return held, nil
}

// UsedBy implements object.Usage. Users are by their ids.
func (s *Store) UsedBy(ctx context.Context, id string, limit int) ([]object.Use, int, error) {
	q := s.d.Read(ctx)
	found, err := db.All(ctx, q, text, "SELECT owner FROM object_refs WHERE target = ? ORDER BY owner LIMIT ?", id, max(limit, 0))
	if err != nil {
		return nil, 0, fmt.Errorf("read what names an object: %w", err)
	}
	n, err := db.Count(ctx, q, "SELECT count(*) FROM object_refs WHERE target = ?", id)
	if err != nil {
		return nil, 0, fmt.Errorf("count what names an object: %w", err)
	}
	uses := make([]object.Use, len(found))
	for i, owner := range found {
		uses[i] = object.Use{Kind: ids.KindOf(owner), ID: owner}
	}
	return uses, n, nil
}
