package runs

import (
	"context"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// wakeBatch bounds how many runs one release of a key wakes. Those after them are woken by later releases, and by the
// search for keys with free slots.
const wakeBatch = 100

// parked is the condition that a run, or its parent, waits for slots.
const parked = "status = 'pending' AND gated AND NOT claimable"

// executes is the condition that a run is executed itself, as function claimable has it.
const executes = "kind <> 'pipeline' AND NOT (kind = 'split' AND shard_count IS NOT NULL)"

// kindOf is the column with the kind of a slot's run.
func kindOf(slot string) string {
	return "(SELECT kind FROM runs WHERE seq = " + slot + ".run_seq) AS kind"
}

func (s *Store) Release(ctx context.Context, ended []int64) (opened []string, left []runs.SlotKey, err error) {
	q := s.d.InUnit(ctx)
	var freed []string
	for part := range slices.Chunk(ended, keysPerStatement) {
		list, err := db.Query[string](ctx, q, "DELETE FROM run_slots WHERE run_seq IN ("+marks(len(part))+
			") RETURNING key", anys(part)...)
		if err != nil {
			return nil, nil, db.Wrap(err, "release slots")
		}
		freed = append(freed, list...)
	}
	freed = slices.Compact(slices.Sorted(slices.Values(freed)))
	hosts := slices.DeleteFunc(slices.Clone(freed), func(k string) bool { return !strings.HasPrefix(k, runs.HostSlot) })
	freed = slices.DeleteFunc(freed, func(k string) bool { return strings.HasPrefix(k, runs.HostSlot) })
	for _, key := range freed {
		locked, err := s.dialect.TryLock(ctx, q, slotLock(key))
		if err != nil {
			return nil, nil, db.Wrap(err, "release slots")
		}
		if !locked {
			left = append(left, runs.SlotKey(key))
			continue
		}
		full := busy
		if key == hostsKey {
			full = busyOrUnknown
		}
		more, err := s.wake(ctx, q, key, full)
		if err == nil && key == hostsKey {
			opened = append(opened, more...)
			more, err = s.wakeHosts(ctx, q, hosts)
		}
		if err != nil {
			return nil, nil, db.Wrap(err, "let the next run have a slot")
		}
		opened = append(opened, more...)
	}
	return opened, left, nil
}

func (s *Store) Waiting(ctx context.Context, after runs.SlotKey) (runs.SlotKey, error) {
	key, _, err := db.QueryRow[string](ctx, s.d.Read(ctx),
		"SELECT key FROM run_slots WHERE state = 1 AND key > ? ORDER BY key LIMIT 1", string(after))
	return runs.SlotKey(key), db.Wrap(err, "look for waiting runs")
}

func (s *Store) Wake(ctx context.Context, key runs.SlotKey) ([]string, error) {
	q := s.d.InUnit(ctx)
	if err := s.dialect.LockNames(ctx, q, slotLock(string(key))); err != nil {
		return nil, db.Wrap(err, "lock the key %s", string(key))
	}
	opened, err := s.wake(ctx, q, string(key), busyOrUnknown)
	return opened, db.Wrap(err, "let the next run have a slot")
}

// wake makes the first runs that wait for a key, and that can have all of their slots now, claimable; full is busy or
// busyOrUnknown. Whether they still can is decided again when they are claimed.
func (s *Store) wake(
	ctx context.Context, q bun.IDB, key string, full func(run string) string,
) ([]string, error) {
	const free = "(SELECT CASE WHEN f.n > 100 THEN 100 WHEN f.n < 0 THEN 0 ELSE f.n END FROM (SELECT coalesce((SELECT n " +
		"FROM slot_limits WHERE key = ?), 1) - (SELECT count(*) FROM run_slots WHERE key = ? AND state = 2) AS n) AS f)"
	limit, args := free, []any{key, key, key}
	if key == hostsKey {
		limit, args = "(SELECT ? + 0)", []any{key, wakeBatch}
	}
	tops, err := db.Query[topRun](ctx, q, "SELECT w.run_seq AS seq, "+kindOf("w")+
		" FROM (SELECT run_seq FROM run_slots WHERE key = ? AND state = 1 ORDER BY rank, run_seq LIMIT "+limit+
		") AS w WHERE NOT EXISTS ("+full("w.run_seq")+")", args...)
	if err != nil {
		return nil, err
	}
	return s.unpark(ctx, q, tops)
}

// wakeHosts wakes the first run that waits for each of the hosts.
func (s *Store) wakeHosts(ctx context.Context, q bun.IDB, keys []string) (opened []string, err error) {
	for part := range slices.Chunk(keys, keysPerStatement) {
		tops, err := db.Query[topRun](ctx, q, "SELECT DISTINCT w.run_seq AS seq, "+kindOf("w")+
			" FROM run_slots AS w WHERE w.key IN ("+marks(len(part))+") AND w.state = 1 AND NOT EXISTS (SELECT 1 "+
			"FROM run_slots AS o WHERE o.key = w.key AND o.state = 1 AND (o.rank, o.run_seq) < (w.rank, w.run_seq)) "+
			"AND NOT EXISTS ("+busyOrUnknown("w.run_seq")+")", anys(part)...)
		if err != nil {
			return nil, err
		}
		more, err := s.unpark(ctx, q, tops)
		if err != nil {
			return nil, err
		}
		opened = append(opened, more...)
	}
	return opened, nil
}

// unpark makes runs without a parent, or the runs below them, claimable.
func (s *Store) unpark(ctx context.Context, q bun.IDB, tops []topRun) ([]string, error) {
	return s.setClaimable(ctx, q, tops, "claimable = TRUE", parked+" AND "+executes)
}

func (s *Store) WakeChildren(ctx context.Context, limit int) ([]string, error) {
	q := s.d.InUnit(ctx)
	opened, err := db.Query[string](ctx, q, "UPDATE runs SET claimable = TRUE, gated = FALSE WHERE seq IN (SELECT seq "+
		"FROM runs WHERE "+parked+" AND parent_id IS NOT NULL AND EXISTS (SELECT 1 FROM runs AS p WHERE p.id = "+
		"runs.parent_id AND NOT p.gated)"+db.Limit+s.dialect.ForUpdateSkipLocked()+") RETURNING queue", limit)
	return opened, db.Wrap(err, "open runs whose parents have their slots")
}
