package runs

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/visible/scopes"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// SetQueue locks the key of the old queue before the run, as claims do.
func (s *Store) SetQueue(ctx context.Context, id, queue string, warnings []runs.Warning) ([]string, error) {
	q := s.d.InUnit(ctx)
	was, err := s.whole(ctx, q, id)
	if err != nil {
		return nil, err
	}
	old := runs.QueueSlot + was.Spec.Queue
	if err := s.dialect.LockNames(ctx, q, slotLock(old)); err != nil {
		return nil, db.Wrap(err, "lock the key %s", old)
	}
	r, err := s.Lock(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case r.Status != runs.Pending || r.Spec.Queue != was.Spec.Queue:
		return nil, runs.RunStateChanged.New("the run is %s", r.Status)
	case r.ParentID != "" || !claimable(r):
		return nil, runs.RunNotMovable.New("the run is a %s", r.Kind)
	}
	opened, err := s.setQueue(ctx, q, r, queue, warnings)
	return opened, db.Wrap(err, "move run %s to another queue", id)
}

func (s *Store) setQueue(
	ctx context.Context, q bun.IDB, r *runs.Run, queue string, warnings []runs.Warning,
) (opened []string, err error) {
	from := countOf(r, runs.Pending, -1)
	objects := slices.DeleteFunc(slices.Clone(r.Objects), func(o string) bool { return o == access.Queue(r.Spec.Queue) })
	scope, _, err := s.scopes.Of(ctx, q, append(objects, access.Queue(queue)))
	if err != nil {
		return nil, err
	}
	doc := ""
	if len(warnings) > 0 {
		if doc, err = db.Document(warnings); err != nil {
			return nil, err
		}
	}
	c := &change{}
	c.put("queue = ?", queue)
	c.put("scope_id = ?", number{scope, scope != scopes.Default})
	c.put("warnings = ?", db.OrNull(doc))
	c.put("revision = revision + 1")
	moved, err := s.apply(ctx, q, c, where{condition: "id = ?", args: []any{r.ID}})
	if err != nil {
		return nil, err
	}
	if opened, err = s.changeQueueKey(ctx, q, moved, runs.QueueSlot+r.Spec.Queue, runs.QueueSlot+queue); err != nil {
		return nil, err
	}
	return opened, s.addCounts(ctx, from, countOf(moved, runs.Pending, 1))
}

// changeQueueKey gives a run the key of its new queue instead of that of the old one, and lets those in that waited
// behind it there. The run is looked at again by a claim, unless a window keeps it from that.
func (s *Store) changeQueueKey(
	ctx context.Context, q bun.IDB, r *runs.Run, old, key string,
) (opened []string, err error) {
	gone, err := db.Exec(ctx, q, "DELETE FROM run_slots WHERE run_seq = ? AND key = ? AND key <> ?", r.Seq, old, key)
	if err != nil {
		return nil, err
	}
	if gone > 0 {
		if opened, err = s.wake(ctx, q, old, busyOrUnknown); err != nil {
			return nil, err
		}
	}
	_, err = db.Exec(ctx, q, "INSERT INTO run_slots (run_seq, key, state, rank) SELECT CAST(? AS BIGINT), key, 0, "+
		"CAST(? AS INTEGER) FROM slot_limits WHERE key = ? ON CONFLICT (run_seq, key) DO NOTHING", r.Seq,
		-int64(r.Spec.Priority), key)
	if err != nil {
		return nil, err
	}
	_, err = db.Exec(ctx, q, "UPDATE runs SET "+
		"slotted = (slotted OR EXISTS (SELECT 1 FROM run_slots AS s WHERE s.run_seq = runs.seq)), "+
		"gated = (gated OR EXISTS (SELECT 1 FROM run_slots AS s WHERE s.run_seq = runs.seq AND s.state <> 2)), "+
		"claimable = NOT EXISTS (SELECT 1 FROM run_windows AS w WHERE w.run_seq = runs.seq AND w.window_id <> '' "+
		"AND NOT w.overridden) WHERE seq = ?", r.Seq)
	return opened, err
}
