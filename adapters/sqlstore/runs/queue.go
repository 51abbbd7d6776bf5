package runs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// The statements of the queue are raw because each claim and each beat executes them, and only repeated texts stay
// prepared.

// waiting is the condition of the claim index.
const waiting = "status = 'pending' AND claimable AND queue = ?"

func (s *Store) Claim(
	ctx context.Context, r runs.ClaimRequest, ttl time.Duration, at time.Time,
) (out runs.ClaimResult, err error) {
	q := s.d.InUnit(ctx)
	queues, err := s.queuesByTurn(ctx, q, r.Queues)
	if err != nil {
		return out, fmt.Errorf("claim a run: %w", err)
	}
	c := &claim{store: s, q: q, request: r, ttl: ttl, at: at}
	for i, queue := range queues {
		t, err := c.take(ctx, queue)
		if err != nil {
			return out, fmt.Errorf("claim a run: %w", err)
		}
		out.Opened = c.opened
		if t.again {
			out.Again, out.Contended, out.HostsOf = true, t.contended, t.hostsOf
			return out, nil
		}
		if t.run == nil {
			continue
		}
		if err := s.started(ctx, q, t.run, at); err != nil {
			return out, err
		}
		if t.documents {
			if err := s.readDocuments(ctx, q, t.run, s.models.documentsOf); err != nil {
				return out, err
			}
		}
		out.Assignment = &runs.Assignment{
			Run: t.run, Lease: runs.Lease{RunID: t.run.ID, Worker: r.Worker, Epoch: t.run.Epoch},
			NextSeq: t.run.EventCount + 1, Last: t.last && i == len(queues)-1,
		}
		return out, nil
	}
	return out, nil
}

// queuesByTurn sorts the queues by their first waiting runs, and leaves out empty ones. It returns a single queue
// without a query.
func (s *Store) queuesByTurn(ctx context.Context, q bun.IDB, queues []string) ([]string, error) {
	if len(queues) < 2 {
		return queues, nil
	}
	heads := make([]string, len(queues))
	for i := range queues {
		heads[i] = "SELECT * FROM (SELECT queue, priority, seq FROM runs WHERE " + waiting +
			" ORDER BY priority DESC, seq LIMIT 1) AS h"
	}
	return db.Query[string](ctx, q, "SELECT queue FROM ("+strings.
		Join(heads, " UNION ")+") AS heads ORDER BY priority DESC, seq", anys(queues)...)
}

// claim is one search for a run.
type claim struct {
	store   *Store
	q       bun.IDB
	request runs.ClaimRequest
	ttl     time.Duration
	at      time.Time
	looks   int // at runs that need slots
	parked  int
	opened  []string
}

// taken is a claimed run.
type taken struct {
	run       *runs.Run // nil for none
	documents bool      // it has documents
	last      bool      // no other run waited in its queue

	again, contended bool
	hostsOf          *runs.Run
}

// first selects the first run of a queue that no other claim has locked.
func (s *Store) first(columns string) string {
	return "SELECT " + columns + " FROM runs AS r WHERE " + waiting + " ORDER BY priority DESC, seq LIMIT 1" +
		s.dialect.ForUpdateSkipLocked()
}

// take claims the first run of a queue. If that needs slots, they are taken first. Where the run before needed some,
// the next one is assumed to: it saves a statement, and costs one if that is wrong.
func (c *claim) take(ctx context.Context, queue string) (taken, error) {
	if _, ok := c.store.gated.Load(queue); ok {
		return c.takeGated(ctx, queue)
	}
	// An empty queue is one statement, so the first run is taken as if it needed nothing.
	t, err := c.update(ctx, queue, "", "seq = ("+c.store.first("seq")+")", queue)
	if err != nil || t.run == nil || !t.run.Gated {
		return t, err
	}
	_, err = db.Exec(ctx, c.q, "UPDATE runs SET status = 'pending', epoch = epoch - 1, worker = NULL, "+
		"lease_expires_at = NULL, revision = revision - 1, event_count = event_count - 1 WHERE seq = ?", t.run.Seq)
	if err != nil {
		return taken{}, err
	}
	return c.takeGated(ctx, queue)
}

// update claims the run of a condition. set changes a further column.
func (c *claim) update(ctx context.Context, queue, set, condition string, args ...any) (t taken, err error) {
	u := &change{}
	u.put("begun = FALSE")
	if set != "" {
		u.put(set)
	}
	u.put("status = 'running'")
	u.put("epoch = epoch + 1")
	u.put("worker = ?", c.request.Worker)
	u.put("lease_expires_at = ?", c.store.dialect.LeaseNow().Add(c.ttl))
	u.put("revision = revision + 1")
	u.put("event_count = event_count + 1")
	w := where{
		condition: condition,
		columns: hasDocuments + ", (SELECT o.seq FROM runs AS o WHERE o.status = 'pending' AND o.claimable AND o.queue = ? " +
			"AND o.seq <> runs.seq ORDER BY o.priority DESC, o.seq LIMIT 1) IS NULL",
		args: append(args, queue),
	}
	t.run, err = c.store.apply(ctx, c.q, u, w, &t.documents, &t.last)
	return t, err
}

// started completes a claim: it writes the event, changes the counters and starts a waiting parent.
func (s *Store) started(ctx context.Context, q bun.IDB, run *runs.Run, at time.Time) error {
	if err := s.storeEventsLast(ctx, run.Seq, []runs.Event{runs.StatusEvent(run, runs.Pending, at)}); err != nil {
		return err
	}
	deltas := []countDelta{countOf(run, runs.Pending, -1), countOf(run, runs.Running, 1)}
	if run.ParentID != "" {
		parent, err := s.startParent(ctx, q, run.ParentID, at)
		if err != nil {
			return err
		}
		if parent != nil {
			deltas = append(deltas, countOf(parent, runs.Pending, -1), countOf(parent, runs.Running, 1))
		}
	}
	return s.addCounts(ctx, deltas...)
}

// startParent moves a pending parent to running and returns it, or nil if it is running already. A parent that a
// holder divided is running without a start time, and gets that of its first child.
func (s *Store) startParent(ctx context.Context, q bun.IDB, id string, at time.Time) (*runs.Run, error) {
	w, _, err := db.QueryRow[row](ctx, q, "SELECT status, started_at FROM runs WHERE id = ?", id)
	if err != nil {
		return nil, fmt.Errorf("find the parent %s: %w", id, err)
	}
	c := &change{}
	c.put("started_at = ?", db.At(at))
	c.put("revision = revision + 1")
	if w.Status != runs.Pending {
		if w.Status == runs.Running && w.StartedAt.IsZero() {
			w := where{condition: "id = ? AND status = 'running' AND started_at IS NULL", args: []any{id}}
			_, err = s.apply(ctx, q, c, w)
		}
		return nil, err
	}
	c.put("status = 'running'")
	c.put("event_count = event_count + 1")
	parent, err := s.apply(ctx, q, c, where{condition: "id = ? AND status = 'pending'", args: []any{id}})
	if err != nil || parent == nil {
		return nil, err
	}
	if parent.Gated { // it was given a key after its child was taken
		if err := s.hold(ctx, q, parent.Seq); err != nil {
			return nil, err
		}
	}
	return parent, s.statusEvent(ctx, q, parent, runs.Pending, at)
}

// Begin keeps the time of the first call.
func (s *Store) Begin(ctx context.Context, l runs.Lease, at time.Time) (*runs.Run, error) {
	q := s.d.InUnit(ctx)
	w, ok, err := db.QueryRow[row](ctx, q,
		"UPDATE runs SET begun = TRUE, started_at = coalesce(started_at, ?), revision = revision + 1 WHERE "+
			underLease+" AND NOT begun RETURNING id, kind, name, parent_id, hidden",
		append([]any{db.At(at)}, leaseArgs(l)...)...)
	if err != nil {
		return nil, fmt.Errorf("begin run %s: %w", l.RunID, err)
	}
	if !ok {
		_, err := s.progressOf(ctx, q, l) // LeaseLost if the lease is over
		return nil, err
	}
	r := &runs.Run{ID: w.ID, Kind: w.Kind, Name: string(w.Name), ParentID: string(w.ParentID)}
	return r, w.Hidden.decode(&r.Hidden)
}

// lost returns RunNotFound for a missing run and LeaseLost otherwise.
func (s *Store) lost(ctx context.Context, q bun.IDB, l runs.Lease) error {
	if _, err := s.seqOf(ctx, q, l.RunID, ""); err != nil && !runs.RunNotFound.Is(err) {
		return err
	}
	return leaseLost(l.RunID)
}

func (s *Store) Beat(ctx context.Context, worker string, leases []runs.Lease, ttl time.Duration) ([]runs.Beat, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	q := s.d.InUnit(ctx)
	args := []any{s.dialect.LeaseNow().Add(ttl), worker}
	for _, l := range leases {
		args = append(args, l.RunID, l.Epoch)
	}
	rows, err := db.Query[row](ctx, q,
		"UPDATE runs SET lease_expires_at = ? WHERE worker = ? AND status = 'running' AND (id, epoch) IN (VALUES (?, ?)"+
			strings.Repeat(", (?, ?)", len(leases)-1)+") RETURNING id, epoch, cancel_requested", args...)
	if err != nil {
		return nil, fmt.Errorf("renew leases: %w", err)
	}
	type held struct {
		id    string
		epoch int64
	}
	renewed := map[held]bool{}
	for _, w := range rows {
		renewed[held{w.ID, w.Epoch}] = w.CancelRequested
	}
	beats := make([]runs.Beat, len(leases))
	for i, l := range leases {
		canceled, ok := renewed[held{l.RunID, l.Epoch}]
		beats[i] = runs.Beat{RunID: l.RunID, Lost: !ok || l.Worker != worker, CancelRequested: canceled}
	}
	return beats, nil
}

func (s *Store) Expired(ctx context.Context, limit int) ([]*runs.Run, error) {
	found, err := s.query(ctx, s.d.Read(ctx), withDocuments,
		s.models.runNoVars+" WHERE r.status = 'running' AND r.worker IS NOT NULL "+
			"AND r.lease_expires_at <= ? ORDER BY r.lease_expires_at, r.seq"+db.Limit, s.dialect.LeaseNow(), limit)
	return found, db.Wrap(err, "list expired leases")
}

func (s *Store) Held(ctx context.Context, t time.Time, limit int) ([]*runs.Run, error) {
	found, err := s.query(ctx, s.d.Read(ctx), withDocuments,
		s.models.runNoVars+" WHERE r.status = 'pending_approval' AND r.created_at < ? ORDER BY r.created_at, r.seq"+db.Limit,
		db.At(t), limit)
	return found, db.Wrap(err, "list held runs")
}

func (s *Store) Refreshing(ctx context.Context, limit int) ([]*runs.Run, error) {
	found, err := s.query(ctx, s.d.Read(ctx), withDocuments,
		s.models.runNoVars+" WHERE r.status = 'pending_approval' AND r.refreshing ORDER BY r.seq"+db.Limit, limit)
	return found, db.Wrap(err, "list held runs whose inventories are refreshed")
}

func (s *Store) Leased(ctx context.Context, worker string) ([]*runs.Run, error) {
	found, err := s.query(ctx, s.d.Read(ctx), withDocuments,
		s.models.runNoVars+" WHERE r.status = 'running' AND r.worker = ? ORDER BY r.seq", worker)
	return found, db.Wrap(err, "list what %s holds", worker)
}
