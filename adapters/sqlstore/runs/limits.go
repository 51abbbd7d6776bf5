package runs

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/visible/scopes"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

func (s *Store) Limits(ctx context.Context, keys ...runs.SlotKey) (map[runs.SlotKey]int, error) {
	out := map[runs.SlotKey]int{}
	for part := range slices.Chunk(keys, keysPerStatement) {
		rows, err := db.Query[struct {
			Key string
			N   int
		}](ctx, s.d.Read(ctx), "SELECT key, n FROM slot_limits WHERE key IN ("+marks(len(part))+")", texts(part)...)
		if err != nil {
			return nil, db.Wrap(err, "read the limits of keys")
		}
		for _, r := range rows {
			out[runs.SlotKey(r.Key)] = r.N
		}
	}
	return out, nil
}

func (s *Store) PutLimit(ctx context.Context, key runs.SlotKey, limit int) ([]string, error) {
	object, err := limited(key, limit)
	if err != nil {
		return nil, err
	}
	q := s.d.InUnit(ctx)
	opened, err := s.putLimit(ctx, q, string(key), object, limit)
	return opened, db.Wrap(err, "store the limit of %s", string(key))
}

// A changed row would keep a unit that locks the table waiting, and all readers behind it, so that the row is written
// when the unit is about to commit.
func (s *Store) AddLimit(ctx context.Context, key runs.SlotKey, limit int) error {
	if _, err := limited(key, limit); err != nil || limit == 0 {
		return err
	}
	return s.d.AtEnd(ctx, db.Statement{
		Query: "INSERT INTO slot_limits (key, n) VALUES (?, ?) ON CONFLICT (key) DO NOTHING",
		Args:  []any{string(key), limit},
	})
}

// limited returns the object of a key.
func limited(key runs.SlotKey, limit int) (object string, err error) {
	object, ok := objectOf(key)
	if !ok || limit < 0 || limit > runs.MaxConcurrent {
		err = fault.BadField("max_concurrent", "must be from 0 to %d", runs.MaxConcurrent)
	}
	return object, err
}

// putLimit locks the key, as claims do, and then the limits, which every new run reads.
func (s *Store) putLimit(ctx context.Context, q bun.IDB, key, object string, limit int) ([]string, error) {
	if err := s.dialect.LockNames(ctx, q, slotLock(key)); err != nil {
		return nil, err
	}
	if err := s.dialect.LockTable(ctx, q, "slot_limits"); err != nil {
		return nil, err
	}
	had, err := db.Count(ctx, q, "SELECT n FROM slot_limits WHERE key = ?", key)
	if err != nil || had == limit {
		return nil, err
	}
	if limit == 0 {
		return s.dropLimit(ctx, q, key)
	}
	_, err = db.Exec(ctx, q, "INSERT INTO slot_limits (key, n) VALUES (?, ?) "+
		"ON CONFLICT (key) DO UPDATE SET n = excluded.n", key, limit)
	switch {
	case err != nil:
		return nil, err
	case had == 0:
		return nil, s.backfill(ctx, q, key, object)
	case limit > had:
		return s.wake(ctx, q, key, busyOrUnknown)
	}
	return nil, nil
}

// dropLimit opens all runs that wait for the key. Those that wait for others too are parked again by claims.
func (s *Store) dropLimit(ctx context.Context, q bun.IDB, key string) ([]string, error) {
	if _, err := db.Exec(ctx, q, "DELETE FROM slot_limits WHERE key = ?", key); err != nil {
		return nil, err
	}
	waiters, err := db.Query[topRun](ctx, q, "SELECT run_seq AS seq, "+kindOf("s")+
		" FROM run_slots AS s WHERE key = ? AND state = 1", key)
	if err != nil {
		return nil, err
	}
	opened, err := s.unpark(ctx, q, waiters)
	if err == nil {
		_, err = db.Exec(ctx, q, "DELETE FROM run_slots WHERE key = ?", key)
	}
	return slices.Compact(slices.Sorted(slices.Values(opened))), err
}

// backfill gives the key to unfinished runs: those that execute, or have other slots, have a slot at once.
func (s *Store) backfill(ctx context.Context, q bun.IDB, key, object string) error {
	const holds = "EXISTS (SELECT 1 FROM run_slots AS h WHERE h.run_seq = runs.seq AND h.state = 2)"
	which, args := "parent_id IS NULL AND status IN ('pending', 'running') AND (scope_id IN (SELECT scope_id "+
		"FROM run_scope_objects WHERE object = ?)", []any{object}
	if object == scopes.DefaultObject {
		which += " OR scope_id IS NULL"
	}
	which += ")"
	for _, st := range []db.Statement{
		{Query: "UPDATE runs SET slotted = TRUE, gated = (gated OR status = 'pending' AND NOT " + holds + ") WHERE " + which,
			Args: args},
		{Query: "INSERT INTO run_slots (run_seq, key, state, rank) SELECT seq, CAST(? AS TEXT), " +
			"CASE WHEN status = 'pending' AND NOT " + holds + " THEN 0 ELSE 2 END, -priority FROM runs WHERE " + which +
			" ON CONFLICT (run_seq, key) DO NOTHING", Args: append([]any{key}, args...)},
		{Query: "UPDATE runs SET gated = TRUE WHERE status IN ('pending', 'pending_approval') AND parent_id IN (SELECT id " +
			"FROM runs WHERE gated AND status = 'pending' AND " + which + ")", Args: args},
	} {
		if _, err := db.Exec(ctx, q, st.Query, st.Args...); err != nil {
			return err
		}
	}
	return nil
}
