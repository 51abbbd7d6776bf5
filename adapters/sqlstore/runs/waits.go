package runs

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// The row of a run in run_windows is locked before the row of the run. Claims, which lock the run first, do not wait
// for it.

type waitRow struct {
	bun.BaseModel `bun:"table:run_windows"`
	RunSeq        int64
	WindowID      string
	WindowName    string
	Since         db.Time
	OpensAt       db.Time
	AgainAt       db.Time
	Version       int64
	Overridden    bool
}

func (w *waitRow) wait() *runs.Wait {
	return &runs.Wait{WindowID: w.WindowID, Window: w.WindowName, Since: w.Since.Time, Opens: w.OpensAt.Time,
		Again: w.AgainAt.Time, Version: w.Version, Overridden: w.Overridden}
}

// keepOverridden is the end of a statement that replaces the row of a run, unless it is overridden.
const keepOverridden = " ON CONFLICT (run_seq) DO UPDATE SET since = CASE WHEN run_windows.window_id <> '' AND " +
	"excluded.window_id <> '' THEN run_windows.since ELSE excluded.since END, window_id = excluded.window_id, " +
	"window_name = excluded.window_name, opens_at = excluded.opens_at, again_at = excluded.again_at, " +
	"version = excluded.version, overridden = excluded.overridden WHERE NOT run_windows.overridden"

// putRow returns false if the run is overridden.
func (s *Store) putRow(ctx context.Context, q bun.IDB, seq int64, w *runs.Wait) (bool, error) {
	row := waitRow{RunSeq: seq, WindowID: w.WindowID, WindowName: w.Window, Since: db.At(w.Since), OpensAt: db.At(w.Opens),
		AgainAt: db.At(w.Again), Version: w.Version, Overridden: w.Overridden}
	query, args, err := s.models.waits.Insertion([]waitRow{row}, keepOverridden+" RETURNING run_seq")
	if err != nil {
		return false, err
	}
	_, ok, err := db.QueryRow[int64](ctx, q, query, args...)
	return ok, err
}

func (s *Store) PutWait(ctx context.Context, id string, w *runs.Wait) (opened []string, err error) {
	q := s.d.InUnit(ctx)
	seq, err := s.seqOf(ctx, q, id, "")
	if err != nil {
		return nil, err
	}
	opened, err = s.putWait(ctx, q, seq, w)
	return opened, db.Wrap(err, "store what the windows say about run %s", id)
}

func (s *Store) putWait(ctx context.Context, q bun.IDB, seq int64, w *runs.Wait) ([]string, error) {
	if w != nil {
		if ok, err := s.putRow(ctx, q, seq, w); err != nil || !ok {
			return nil, err
		}
	} else if n, err := db.Exec(ctx, q, "DELETE FROM run_windows WHERE run_seq = ? AND NOT overridden", seq); n == 0 {
		return nil, err
	}
	top, ok, err := db.QueryRow[topRun](ctx, q, "SELECT seq, kind FROM runs WHERE seq = ? AND status = 'pending' "+
		"AND epoch = 0 AND parent_id IS NULL"+s.dialect.ForUpdate(), seq)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		_, err := db.Exec(ctx, q, "DELETE FROM run_windows WHERE run_seq = ?", seq)
		return nil, err
	case w.Closed():
		return nil, s.shut(ctx, q, top)
	case w != nil:
		if _, err := s.setClaimable(ctx, q, []topRun{top}, "gated = TRUE", unstarted); err != nil {
			return nil, err
		}
	}
	return s.unpark(ctx, q, []topRun{top})
}

// unstarted is the condition that a run may be claimed later.
const unstarted = "status IN ('pending', 'pending_approval')"

// shut makes a run, or those below it, not claimable until PutWait opens it. It does not wait for slots meanwhile, so
// that others get them; its place among those that wait stays, since it follows from the run.
func (s *Store) shut(ctx context.Context, q bun.IDB, top topRun) error {
	_, err := s.setClaimable(ctx, q, []topRun{top}, "gated = TRUE, claimable = (claimable AND status <> 'pending')",
		unstarted)
	if err == nil {
		_, err = db.Exec(ctx, q, "UPDATE run_slots SET state = 0 WHERE run_seq = ? AND state = 1", top.Seq)
	}
	return err
}

// windows decides whether the windows let the first claim of a run pass, whose Wait ends then. Those that wait for
// slots behind a run that may not start are let in before it. busy means that another unit changes it.
func (c *claim) windows(ctx context.Context, x *candidate) (open, busy bool, err error) {
	row, ok, err := db.QueryRow[waitRow](ctx, c.q, "SELECT window_id, again_at, overridden FROM run_windows "+
		"WHERE run_seq = ?"+c.store.dialect.ForUpdateSkipLocked(), x.Top)
	switch {
	case err != nil || !ok:
		return false, true, err
	case row.Overridden, row.WindowID == "" && (row.AgainAt.IsZero() || row.AgainAt.After(c.at)):
		return true, false, nil
	}
	c.parked++
	top, _, err := db.QueryRow[topRun](ctx, c.q, "SELECT seq, kind FROM runs WHERE seq = ?", x.Top)
	if err != nil {
		return false, false, err
	}
	if err := c.store.shut(ctx, c.q, top); err != nil || !x.locked {
		return false, false, err // without the locks, the search for free slots finds those behind it
	}
	for _, key := range x.missing {
		opened, err := c.store.wake(ctx, c.q, key, busyOrUnknown)
		if err != nil {
			return false, false, err
		}
		c.opened = append(c.opened, opened...)
	}
	return false, false, nil
}

func (s *Store) WaitOf(ctx context.Context, id string) (*runs.Wait, error) {
	row, ok, err := db.QueryRow[waitRow](ctx, s.d.Read(ctx), "SELECT w.* FROM run_windows AS w JOIN runs AS t "+
		"ON t.seq = w.run_seq JOIN runs AS r ON t.id = coalesce(r.parent_id, r.id) WHERE r.id = ?", id)
	if err != nil || !ok {
		return nil, db.Wrap(err, "read what the windows say about run %s", id)
	}
	return row.wait(), nil
}

func (s *Store) DueWaits(
	ctx context.Context, version int64, at time.Time, after int64, limit int,
) ([]runs.Waiting, error) {
	list, err := listWaiting(ctx, s.d.Read(ctx), "SELECT r.id, r.seq, r.created_at FROM run_windows AS w "+
		"JOIN runs AS r ON r.seq = w.run_seq WHERE NOT w.overridden AND w.run_seq > ? AND (w.version <> ? "+
		"OR w.again_at <= ?) ORDER BY w.run_seq"+db.Limit, after, version, db.At(at), limit)
	return list, db.Wrap(err, "list runs whose windows may have changed")
}

func (s *Store) NextWait(ctx context.Context) (time.Time, error) {
	row, _, err := db.QueryRow[waitRow](ctx, s.d.Read(ctx), "SELECT again_at FROM run_windows WHERE NOT overridden "+
		"AND again_at IS NOT NULL ORDER BY again_at LIMIT 1")
	return row.AgainAt.Time, db.Wrap(err, "read when a window changes next")
}

// Unasked walks the index of states, whatever the number of runs that have ended.
func (s *Store) Unasked(ctx context.Context, after runs.Waiting, limit int) ([]runs.Waiting, error) {
	query, args := "SELECT id, seq, created_at FROM runs WHERE status = 'pending' AND parent_id IS NULL AND epoch = 0 "+
		"AND NOT EXISTS (SELECT 1 FROM run_windows AS w WHERE w.run_seq = runs.seq)", []any{}
	if after.Seq != 0 {
		query, args = query+" AND (created_at, seq) > (?, ?)", []any{db.At(after.CreatedAt), after.Seq}
	}
	list, err := listWaiting(ctx, s.d.Read(ctx), query+" ORDER BY created_at, seq"+db.Limit, append(args, limit)...)
	return list, db.Wrap(err, "list runs without windows")
}

func listWaiting(ctx context.Context, q bun.IDB, query string, args ...any) ([]runs.Waiting, error) {
	rows, err := db.Query[struct {
		ID        string
		Seq       int64
		CreatedAt db.Time
	}](ctx, q, query, args...)
	var out []runs.Waiting
	for _, r := range rows {
		out = append(out, runs.Waiting{ID: r.ID, Seq: r.Seq, CreatedAt: r.CreatedAt.Time})
	}
	return out, err
}

func (s *Store) Asked(ctx context.Context) (int64, error) {
	v, _, err := db.QueryRow[int64](ctx, s.d.Read(ctx), "SELECT version FROM run_windows_asked WHERE id = 1")
	return v, db.Wrap(err, "read the version of the windows of runs")
}

func (s *Store) SetAsked(ctx context.Context, version int64) error {
	_, err := db.Exec(ctx, s.d.InUnit(ctx), "UPDATE run_windows_asked SET version = ? WHERE id = 1 AND version < ?",
		version, version)
	return db.Wrap(err, "store the version of the windows of runs")
}
