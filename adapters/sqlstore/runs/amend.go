package runs

import (
	"context"
	"errors"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// Amend returns LeaseLost if a.Lease is set and no longer valid. A split that gets a shard count is divided and no
// longer waits for an executor.
func (s *Store) Amend(ctx context.Context, id string, a runs.Amendment) error {
	q := s.d.InUnit(ctx)
	c := &change{}
	c.put("revision = revision + 1")
	if a.CancelRequested != nil {
		c.put("cancel_requested = ?", *a.CancelRequested)
	}
	if a.ShardCount != nil {
		c.put("shard_count = ?", *a.ShardCount)
		c.put("claimable = (claimable AND NOT (kind = 'split' AND ? > 0))", *a.ShardCount)
	}
	if a.DropLease {
		c.dropLease()
	}
	if err := errors.Join(c.canceled(a.Canceled), c.approvals(a.Approvals), c.decision(a.Decision),
		c.risk(a.Risk)); err != nil {
		return err
	}
	if len(a.Warnings) > 0 {
		if err := s.addWarnings(ctx, q, c, id, a.Warnings); err != nil {
			return err
		}
	}
	if len(a.Hidden) > 0 {
		if err := s.learn(ctx, q, c, id, a.Hidden); err != nil {
			return err
		}
	}
	r, err := s.amend(ctx, q, c, id, a.Lease)
	if err != nil {
		return err
	}
	if a.Graph != nil {
		if err := putDocument(ctx, q, r.Seq, "graph", a.Graph); err != nil {
			return err
		}
	}
	if len(a.Hidden) > 0 {
		return s.conceal(ctx, q, r)
	}
	return nil
}

func (s *Store) amend(ctx context.Context, q bun.IDB, c *change, id string, l *runs.Lease) (*runs.Run, error) {
	w := where{condition: "id = ?", args: []any{id}}
	if l != nil {
		w = where{condition: underLease, args: leaseArgs(*l)}
	}
	r, err := s.apply(ctx, q, c, w)
	if err != nil {
		return nil, db.Wrap(err, "amend run %s", id)
	}
	if r == nil {
		return nil, s.refusal(ctx, q, id, l)
	}
	return r, nil
}
