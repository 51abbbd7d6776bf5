package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

// anchorsPerRead bounds the anchors in memory.
const anchorsPerRead = 64

type anchor struct {
	bun.BaseModel `bun:"table:audit_anchors,alias:a"`
	anchorColumns
}

// anchorColumns is an audit.Anchor with the names of its columns.
type anchorColumns struct {
	ID       string `bun:",pk"`
	Kind     string
	Epoch    int64
	Size     int64
	Root     [32]byte
	MadeAt   time.Time
	Note     string
	Evidence []byte
	Source   string
}

// anchors reads those of a query.
func anchors(ctx context.Context, q *bun.SelectQuery) ([]audit.Anchor, error) {
	var rows []anchor
	err := q.Model(&rows).Scan(ctx)
	var out []audit.Anchor
	for _, r := range rows {
		a := audit.Anchor(r.anchorColumns)
		if len(a.Evidence) == 0 {
			a.Evidence = nil
		}
		out = append(out, a)
	}
	return out, db.Translate(err)
}

// An existing id is a Conflict, and text that a column cannot store byte for byte is an Internal fault.
func (s *Store) PutAnchor(ctx context.Context, a audit.Anchor) error {
	if a.ID == "" || !text(a.ID) || !text(a.Kind) || !text(a.Note) || !text(a.Source) {
		return internal("anchor %q holds a value that is not text", a.ID)
	}
	if a.Evidence == nil {
		a.Evidence = []byte{}
	}
	n, err := db.Modify(ctx, s.d.InUnit(ctx).NewInsert().Model(&anchor{anchorColumns: anchorColumns(a)}).
		On("CONFLICT (id) DO NOTHING"))
	if err != nil {
		return fmt.Errorf("store anchor %s: %w", a.ID, err)
	}
	if n == 0 {
		return &fault.Error{Kind: fault.Conflict, Message: "the anchor exists"}
	}
	return nil
}

// No database resource is held while fn runs.
func (s *Store) Anchors(ctx context.Context, fn func(a *audit.Anchor) error) error {
	size, id := int64(-1), ""
	for {
		batch, err := anchors(ctx, s.d.Read(ctx).NewSelect().Where("a.size > ? OR (a.size = ? AND a.id > ?)", size, size, id).
			OrderExpr("a.size, a.id").Limit(anchorsPerRead))
		if err != nil {
			return fmt.Errorf("read the anchors: %w", err)
		}
		for i := range batch {
			size, id = batch[i].Size, batch[i].ID
			if err := fn(&batch[i]); err != nil {
				return err
			}
		}
		if len(batch) < anchorsPerRead {
			return nil
		}
	}
}

// Anchors of one size are ordered by descending id.
func (s *Store) NewestAnchors(ctx context.Context, kind string, limit int) ([]audit.Anchor, error) {
	return s.FindAnchors(ctx, audit.AnchorFilter{Kind: kind, Limit: limit})
}

// Anchors of one size are ordered by descending id.
func (s *Store) FindAnchors(ctx context.Context, f audit.AnchorFilter) ([]audit.Anchor, error) {
	q := s.d.Read(ctx).NewSelect().OrderExpr("a.size DESC, a.id DESC").Apply(db.AtMost(f.Limit))
	if f.Kind != "" {
		q.Where("a.kind = ?", f.Kind)
	}
	if f.Epoch != 0 {
		q.Where("a.epoch = ?", f.Epoch)
	}
	if f.UpTo != 0 {
		q.Where("a.size <= ?", f.UpTo)
	}
	if f.Evidence {
		q.Where("length(a.evidence) > 0")
	}
	found, err := anchors(ctx, q)
	return found, db.Wrap(err, "read the newest anchors")
}

func (s *Store) CountAnchors(ctx context.Context) (map[string]int64, error) {
	var found []struct {
		Kind string
		N    int64
	}
	err := s.d.Read(ctx).NewSelect().Model((*anchor)(nil)).ColumnExpr("a.kind, count(*) AS n").GroupExpr("a.kind").
		Scan(ctx, &found)
	if err != nil {
		return nil, db.Wrap(err, "count the anchors")
	}
	out := make(map[string]int64, len(found))
	for _, c := range found {
		out[c.Kind] = c.N
	}
	return out, nil
}
