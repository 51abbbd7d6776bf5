package runs

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// learn adds digests to the texts that the run hides. The row is locked while they are joined.
func (s *Store) learn(ctx context.Context, q bun.IDB, c *change, id string, digests []string) error {
	var h runs.Hidden
	if err := s.lockDocument(ctx, q, id, "hidden", &h); err != nil {
		return err
	}
	doc, err := db.Document(h.Learn(digests))
	c.put("hidden = ?", doc)
	return err
}

// conceal removes what a run hides from that by which it is found.
func (s *Store) conceal(ctx context.Context, q bun.IDB, r *runs.Run) error {
	if r.ParentID != "" {
		return nil
	}
	if _, err := q.NewDelete().Model((*runLabel)(nil)).Where("run_seq = ?", r.Seq).Exec(ctx); err != nil {
		return db.Wrap(err, "remove the labels of run %s", r.ID)
	}
	if err := s.insertLabels(ctx, q, r); err != nil {
		return err
	}
	return s.index(ctx, r)
}
