package audit

import (
	"context"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

const selectAnchors = "SELECT id, kind, epoch, size, root, made_at, note, evidence, source FROM audit_anchors"

// anchorsPerRead is how many anchors are in memory at once.
const anchorsPerRead = 64

func scanAnchor(r db.Row) (a audit.Anchor, err error) {
	var made db.Time
	err = r.Scan(&a.ID, &a.Kind, &a.Epoch, &a.Size, (*digest)(&a.Root), &made, &a.Note, &a.Evidence, &a.Source)
	a.MadeAt = made.Time
	if len(a.Evidence) == 0 {
		a.Evidence = nil
	}
	return a, err
}

// PutAnchor implements audit.AnchorStore. An id that exists is a Conflict, and what no column of text keeps byte for byte an
// Internal fault.
func (s *Store) PutAnchor(ctx context.Context, a audit.Anchor) error {
	if a.ID == "" || !text(a.ID) || !text(a.Kind) || !text(a.Note) || !text(a.Source) {
		return internal("anchor %q holds what is no text", a.ID)
	}
	if a.Evidence == nil {
		a.Evidence = []byte{}
	}
	n, err := s.exec(ctx, "INSERT INTO audit_anchors (id, kind, epoch, size, root, made_at, note, evidence, source) "+
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
		a.ID, a.Kind, a.Epoch, a.Size, a.Root[:], a.MadeAt, a.Note, a.Evidence, a.Source)
	if err != nil {
		return fmt.Errorf("keep anchor %s: %w", a.ID, err)
	}
	if n == 0 {
		return &fault.Error{Kind: fault.Conflict, Message: "the anchor exists"}
	}
	return nil
}

// Anchors implements audit.AnchorStore. Nothing of the database is held while fn runs.
func (s *Store) Anchors(ctx context.Context, fn func(a *audit.Anchor) error) error {
	size, id := int64(-1), ""
	for {
		batch, err := db.All(ctx, s.d.Read(ctx), scanAnchor, selectAnchors+" WHERE size > ? OR (size = ? AND id > ?) ORDER BY size, id LIMIT ?",
			size, size, id, anchorsPerRead)
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

// NewestAnchors implements audit.AnchorStore. Of one size those with the higher ids come first.
func (s *Store) NewestAnchors(ctx context.Context, kind string, limit int) ([]audit.Anchor, error) {
	return s.FindAnchors(ctx, audit.AnchorFilter{Kind: kind, Limit: limit})
}

// FindAnchors implements audit.AnchorStore. Of one size those with the higher ids come first.
func (s *Store) FindAnchors(ctx context.Context, f audit.AnchorFilter) ([]audit.Anchor, error) {
	var where []string
	var args []any
	narrow := func(set bool, text string, with ...any) {
		if set {
			where, args = append(where, text), append(args, with...)
		}
	}
	narrow(f.Kind != "", "kind = ?", f.Kind)
	narrow(f.Epoch != 0, "epoch = ?", f.Epoch)
	narrow(f.UpTo != 0, "size <= ?", f.UpTo)
	narrow(f.Evidence, "length(evidence) > 0")
	query := selectAnchors
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	found, err := db.All(ctx, s.d.Read(ctx), scanAnchor, query+" ORDER BY size DESC, id DESC LIMIT ?", append(args, max(f.Limit, 0))...)
	if err != nil {
		return nil, fmt.Errorf("read the newest anchors: %w", err)
	}
	return found, nil
}

// CountAnchors implements audit.AnchorStore.
func (s *Store) CountAnchors(ctx context.Context) (map[string]int64, error) {
	type counted struct {
		kind string
		n    int64
	}
	found, err := db.All(ctx, s.d.Read(ctx), func(r db.Row) (c counted, err error) { return c, r.Scan(&c.kind, &c.n) },
		"SELECT kind, count(*) FROM audit_anchors GROUP BY kind")
	if err != nil {
		return nil, fmt.Errorf("count the anchors: %w", err)
	}
	out := make(map[string]int64, len(found))
	for _, c := range found {
		out[c.kind] = c.n
	}
	return out, nil
}
