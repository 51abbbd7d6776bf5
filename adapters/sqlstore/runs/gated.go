package runs

import (
	"context"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// Bounds of one claim: how many runs that need slots it looks at, how many it parks, and how many of those at once.
const (
	maxLooks  = 16
	maxParked = 1000
	parkBatch = 500
)

// candidate is the first run of a queue. Top is the seq of its parent, or its own, and missing are the keys of which
// that has no slot yet, without those of its hosts.
type candidate struct {
	Seq      int64
	Gated    bool
	ParentID text
	Top      int64
	Windows  bool // they say something about it
	missing  []string
	locked   bool // nobody else takes or releases a slot of these
}

// takeGated claims the first run of a queue that can have its slots and that windows let start, and parks those before
// it. They are no longer claimable until another run releases what they wait for, or until a window opens.
func (c *claim) takeGated(ctx context.Context, queue string) (t taken, err error) {
	for ; c.looks < maxLooks && c.parked < maxParked; c.looks++ {
		x, err := c.look(ctx, queue)
		if err != nil {
			return taken{}, err
		}
		if x == nil || !x.Gated {
			c.store.gated.Delete(queue)
		} else {
			c.store.gated.Store(queue, struct{}{})
		}
		if x == nil {
			return taken{}, nil
		}
		in := true
		if x.Gated {
			if t, in, err = c.admit(ctx, x); err != nil || t.again {
				return t, err
			}
		}
		if in {
			return c.update(ctx, queue, "gated = FALSE", "seq = ?", x.Seq)
		}
	}
	return taken{again: true}, nil
}

// look selects the first run of a queue and locks its keys, so that nobody else takes or releases one. A unit by itself
// waits for others that have locked the keys of its first run.
func (c *claim) look(ctx context.Context, queue string) (*candidate, error) {
	d := c.store.dialect
	first := " FROM (" + c.store.first("seq, gated, parent_id, coalesce((SELECT p.seq FROM runs AS p "+
		"WHERE p.id = r.parent_id), seq) AS top") + ") AS f LEFT JOIN run_slots AS s ON s.run_seq = f.top " +
		"AND s.state <> 2 AND s.key NOT LIKE 'host:%' LEFT JOIN run_windows AS w ON w.run_seq = f.top"
	if tx.IsAlone(ctx) && c.looks == 0 {
		list, err := db.Query[string](ctx, c.q, "SELECT s.key"+first+" WHERE s.key IS NOT NULL", queue)
		if err != nil {
			return nil, err
		}
		for i := range list {
			list[i] = slotLock(list[i])
		}
		if err := d.LockNames(ctx, c.q, list...); err != nil {
			return nil, err
		}
	}
	rows, err := db.Query[struct {
		candidate
		Key    text
		Locked bool
	}](ctx, c.q, "SELECT f.seq, f.gated, f.parent_id, f.top, w.run_seq IS NOT NULL AS windows, s.key, "+
		"CASE WHEN s.key IS NULL THEN TRUE ELSE "+
		d.TryLockName("'slot ' || s.key")+" END AS locked"+first, queue)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	x := rows[0].candidate
	x.locked = true
	for _, r := range rows {
		x.locked = x.locked && r.Locked
		if r.Key != "" {
			x.missing = append(x.missing, string(r.Key))
		}
	}
	return &x, nil
}

// admit takes the slots of a run, and of its siblings, or parks them. It parks them too if a window is closed.
func (c *claim) admit(ctx context.Context, x *candidate) (t taken, in bool, err error) {
	if x.Windows {
		open, busy, err := c.windows(ctx, x)
		if err != nil || !open {
			return taken{again: busy, contended: busy}, false, err
		}
	}
	if !x.locked {
		return taken{again: true, contended: true}, false, err
	}
	full, args := busy("?"), []any{x.Top}
	if slices.Contains(x.missing, hostsKey) {
		full, args = busyOrUnknown("?"), []any{x.Top, x.Top}
		if t, err = c.hosts(ctx, x.Top); err != nil || t.again {
			return t, false, err
		}
	}
	if len(x.missing) > 0 {
		n, err := db.Exec(ctx, c.q, "UPDATE run_slots SET state = 2 WHERE run_seq = ? AND state <> 2 AND NOT EXISTS ("+
			full+")", append([]any{x.Top}, args...)...)
		if err != nil {
			return t, false, err
		}
		if n == 0 {
			return t, false, c.park(ctx, x, full, args)
		}
	}
	return t, true, c.open(ctx, x)
}

// slotLock is the name of the lock of a key. Hosts are compared under one lock.
func slotLock(key string) string {
	if strings.HasPrefix(key, runs.HostSlot) {
		key = hostsKey
	}
	return "slot " + key
}

// hosts stores the hosts of a run with exclusive hosts, or asks for them.
func (c *claim) hosts(ctx context.Context, top int64) (t taken, err error) {
	w, ok, err := db.QueryRow[row](ctx, c.q, "SELECT id, priority FROM runs WHERE seq = ?", top)
	if err != nil || !ok {
		return t, err
	}
	hosts, known := c.request.Hosts[w.ID]
	if !known {
		t.again = true
		t.hostsOf, err = c.store.whole(ctx, c.q, w.ID)
		return t, err
	}
	list := []string{anyHost}
	if hosts != nil {
		list = make([]string, len(hosts))
		for i, h := range hosts {
			list[i] = runs.HostSlot + h
		}
		list = slices.Compact(slices.Sorted(slices.Values(list)))
	}
	state, _, err := db.QueryRow[int](ctx, c.q, "SELECT state FROM run_slots WHERE run_seq = ? AND key = ?", top,
		hostsKey)
	if err != nil {
		return t, err
	}
	if _, err = db.Exec(ctx, c.q, "DELETE FROM run_slots WHERE run_seq = ? AND key LIKE 'host:%'", top); err != nil {
		return t, err
	}
	return t, c.store.putKeys(ctx, c.q, top, -int64(w.Priority), state, list)
}

// open makes the siblings of a run that got its slots claimable without any.
func (c *claim) open(ctx context.Context, x *candidate) error {
	if x.Windows {
		if _, err := db.Exec(ctx, c.q, "DELETE FROM run_windows WHERE run_seq = ?", x.Top); err != nil {
			return err
		}
	}
	if x.ParentID == "" {
		return nil // the claim changes its row
	}
	if _, err := db.Exec(ctx, c.q, "UPDATE runs SET gated = FALSE WHERE seq = ?", x.Top); err != nil {
		return err
	}
	opened, err := db.Query[string](ctx, c.q, "UPDATE runs SET gated = FALSE, claimable = TRUE WHERE seq IN ("+
		"SELECT seq FROM runs WHERE parent_id = ? AND gated AND seq <> ?"+c.store.dialect.ForUpdateSkipLocked()+
		") RETURNING queue", string(x.ParentID), x.Seq)
	c.opened = append(c.opened, opened...)
	return err
}

// park makes a run that waits for slots, and those that wait behind it for the same ones, not claimable.
func (c *claim) park(ctx context.Context, x *candidate, busy string, args []any) error {
	full, err := db.Query[slotRow](ctx, c.q, busy, args...)
	if err != nil {
		return err
	}
	own := topRun{Seq: x.Top, Kind: runs.Single}
	if x.ParentID != "" {
		own.Kind = runs.Pipeline // or a split
	}
	if err := c.wait(ctx, []topRun{own}); err != nil {
		return err
	}
	for _, k := range full {
		if k.Key == hostsKey || strings.HasPrefix(k.Key, runs.HostSlot) {
			continue
		}
		// Runs with exclusive hosts are looked at one by one, since they also keep their place for each of their hosts.
		behind, err := db.Query[topRun](ctx, c.q, "SELECT r.seq, r.kind FROM run_slots AS s "+
			"JOIN runs AS r ON r.seq = s.run_seq WHERE s.key = ? AND s.state = 0 AND (s.rank, s.run_seq) > (?, ?) "+
			"AND r.status = 'pending' AND r.gated AND NOT EXISTS (SELECT 1 FROM run_slots AS h "+
			"WHERE h.run_seq = s.run_seq AND h.key = 'hosts') ORDER BY s.rank, s.run_seq"+db.Limit+
			c.store.dialect.ForUpdateSkipLocked(), k.Key, k.Rank, k.RunSeq, parkBatch)
		if err != nil {
			return err
		}
		if err := c.wait(ctx, behind); err != nil {
			return err
		}
	}
	return nil
}

// wait marks runs without a parent as waiting at all of their keys.
func (c *claim) wait(ctx context.Context, tops []topRun) error {
	c.parked += len(tops)
	for part := range slices.Chunk(tops, keysPerStatement) {
		_, err := db.Exec(ctx, c.q, "UPDATE run_slots SET state = 1 WHERE run_seq IN ("+marks(len(part))+
			") AND state = 0", seqsOf(part)...)
		if err != nil {
			return err
		}
	}
	_, err := c.store.setClaimable(ctx, c.q, tops, "claimable = FALSE", "status = 'pending' AND claimable AND gated")
	return err
}

// topRun is a run without a parent.
type topRun struct {
	Seq  int64
	Kind runs.Kind
}

func seqsOf(tops []topRun) []any {
	out := make([]any, len(tops))
	for i, x := range tops {
		out[i] = x.Seq
	}
	return out
}

// setClaimable changes runs, and those below them, for which a condition holds, and returns their queues. It leaves out
// rows that another unit has locked. Each statement walks one index.
func (s *Store) setClaimable(
	ctx context.Context, q bun.IDB, tops []topRun, set, condition string,
) (queues []string, err error) {
	change := func(which string, args []any) error {
		more, err := db.Query[string](ctx, q, "UPDATE runs SET "+set+" WHERE seq IN (SELECT seq FROM runs WHERE "+which+
			" AND "+condition+s.dialect.ForUpdateSkipLocked()+") RETURNING queue", args...)
		queues = append(queues, more...)
		return err
	}
	for part := range slices.Chunk(tops, keysPerStatement) {
		in, args := " IN ("+marks(len(part))+")", seqsOf(part)
		if err := change("seq"+in, args); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(part, func(x topRun) bool { return x.Kind.Parent() }) {
			continue
		}
		if err := change("parent_id IN (SELECT id FROM runs WHERE seq"+in+")", args); err != nil {
			return nil, err
		}
	}
	return queues, nil
}

// hold gives a run the slots of all of its keys, whether or not they are free.
func (s *Store) hold(ctx context.Context, q bun.IDB, seq int64) error {
	_, err := db.Exec(ctx, q, "UPDATE run_slots SET state = 2 WHERE run_seq = ?", seq)
	if err == nil {
		_, err = db.Exec(ctx, q, "UPDATE runs SET gated = FALSE WHERE seq = ?", seq)
	}
	return err
}

// before is the condition that another run o has a place before s at a key, if it waits.
const before = "o.state = 1 AND (o.rank, o.run_seq) < (s.rank, s.run_seq)"

// busy selects the keys at which a run, given as SQL, cannot have a slot now: as many others have one or wait before
// it. A key without a stored limit is a lock or a host, of which there is one. It leaves out hosts that are not known.
func busy(run string) string {
	const (
		held  = "(SELECT count(*) FROM run_slots AS o WHERE o.key = s.key AND o.state = 2)"
		ahead = "(SELECT count(*) FROM run_slots AS o WHERE o.key = s.key AND " + before + ")"
		limit = "coalesce((SELECT n FROM slot_limits AS l WHERE l.key = s.key), 1)"
	)
	return "SELECT s.run_seq, s.key, s.state, s.rank FROM run_slots AS s WHERE s.run_seq = " + run +
		" AND s.state <> 2 AND s.key <> 'hosts' AND (" + held + " >= " + limit + " OR " + held + " + " + ahead + " >= " +
		limit + ")"
}

// busyOrUnknown is busy for a run with exclusive hosts. It also waits for one whose hosts are not known, and such a run
// for all of them.
func busyOrUnknown(run string) string {
	const (
		met = "SELECT 1 FROM run_slots AS o WHERE o.run_seq <> s.run_seq AND (o.state = 2 OR " + before + ") AND "
		any = "EXISTS (SELECT 1 FROM run_slots AS u WHERE u.run_seq = s.run_seq AND u.key = '" + anyHost + "')"
	)
	return busy(run) + " UNION ALL SELECT s.run_seq, s.key, s.state, s.rank FROM run_slots AS s WHERE s.run_seq = " + run +
		" AND s.state <> 2 AND s.key = 'hosts' AND (EXISTS (" + met + "o.key = '" + anyHost + "') OR " + any +
		" AND EXISTS (" + met + "o.key = 'hosts'))"
}
