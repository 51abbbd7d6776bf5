package runs

import (
	"context"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

func (s *Store) Launches(ctx context.Context, key runs.SlotKey) ([]string, error) {
	q := s.d.InUnit(ctx)
	if err := s.dialect.LockNames(ctx, q, "launch "+string(key)); err != nil {
		return nil, db.Wrap(err, "lock the launches of %s", string(key))
	}
	list, err := db.Query[string](ctx, q, "SELECT r.id FROM run_slots AS s JOIN runs AS r ON r.seq = s.run_seq "+
		"WHERE s.key = ? ORDER BY s.run_seq"+db.Limit, string(key), runs.MaxConcurrent)
	return list, db.Wrap(err, "list the runs of %s", string(key))
}

func (s *Store) Busy(ctx context.Context, seq int64) ([]runs.BusyKey, error) {
	q := s.d.Read(ctx)
	rows, err := db.Query[slotRow](ctx, q, busyOrUnknown("?"), seq, seq)
	if err != nil {
		return nil, db.Wrap(err, "look for what a run waits for")
	}
	slices.SortFunc(rows, func(a, b slotRow) int { return strings.Compare(a.Key, b.Key) })
	hosts := 0
	rows = slices.DeleteFunc(rows, func(r slotRow) bool {
		if strings.HasPrefix(r.Key, runs.HostSlot) {
			hosts++
		}
		return hosts > maxHosts && strings.HasPrefix(r.Key, runs.HostSlot)
	})
	out := make([]runs.BusyKey, len(rows))
	for i, r := range rows {
		if out[i], err = s.busyKey(ctx, q, r); err != nil {
			return nil, db.Wrap(err, "look for what a run waits for")
		}
	}
	return out, nil
}

// Bounds of an explanation: the runs that it names for a key, and the hosts.
const (
	maxHolders = 10
	maxHosts   = 5
)

func (s *Store) busyKey(ctx context.Context, q bun.IDB, w slotRow) (runs.BusyKey, error) {
	k := runs.BusyKey{Key: runs.SlotKey(w.Key), Limit: 1}
	limits, err := s.Limits(ctx, k.Key)
	if err != nil {
		return k, err
	}
	if n := limits[k.Key]; n > 0 {
		k.Limit = n
	}
	keys := []any{w.Key}
	if w.Key == hostsKey {
		keys = []any{anyHost}
		unknown, err := db.Count(ctx, q, "SELECT count(*) FROM run_slots WHERE run_seq = ? AND key = ?", w.RunSeq, anyHost)
		if err != nil {
			return k, err
		}
		if unknown > 0 {
			keys = append(keys, hostsKey)
		}
	}
	from := " FROM run_slots AS s JOIN runs AS r ON r.seq = s.run_seq WHERE s.key IN (" + marks(len(keys)) + ") AND "
	k.Holders, err = db.Query[string](ctx, q, "SELECT DISTINCT r.id"+from+"s.state = 2 ORDER BY r.id"+db.Limit,
		append(keys, maxHolders)...)
	if err != nil {
		return k, err
	}
	ahead := append(slices.Clone(keys), w.Rank, w.RunSeq)
	const waits = "s.state = 1 AND (s.rank, s.run_seq) < (?, ?)"
	k.Ahead, err = db.Count(ctx, q, "SELECT count(DISTINCT s.run_seq)"+from+waits, ahead...)
	if err != nil || k.Ahead == 0 {
		return k, err
	}
	k.First, _, err = db.QueryRow[string](ctx, q, "SELECT r.id"+from+waits+" ORDER BY s.rank, s.run_seq LIMIT 1", ahead...)
	return k, err
}
