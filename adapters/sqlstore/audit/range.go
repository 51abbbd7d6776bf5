package audit

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
)

// Range uses raw SQL because chains have millions of entries: the scan targets are allocated once, and the text stays
// prepared.

const (
	// windowRows bounds the sequence numbers of one read, and windowBytes the bytes of their entries.
	windowRows  = 256
	windowBytes = 1 << 20
)

// rangeRead is one call of Range. It reads one window after the other into the same memory.
type rangeRead struct {
	q       bun.IDB
	private bool
	scanner *scanner
	entries []audit.Stored
}

// No database resource is held while fn runs.
func (s *Store) Range(ctx context.Context, from, to int64, private bool, fn func(e *audit.Stored) error) error {
	r := &rangeRead{q: s.d.Read(ctx), private: private, scanner: newScanner(private)}
	for from <= to {
		end := to
		if uint64(to)-uint64(from) >= windowRows {
			end = from + windowRows - 1
		}
		full, err := r.fill(ctx, from, end)
		if err != nil {
			return fmt.Errorf("read the chain from %d: %w", from, err)
		}
		next := from
		for i := range r.entries {
			next = r.entries[i].Seq + 1
			if err := fn(&r.entries[i]); err != nil {
				return err
			}
		}
		switch {
		case next == end+1 && end == to:
			return nil
		case next != end+1 && !full: // at a hole, or at the end of the chain
			var more bool
			if next, more, err = db.QueryRow[int64](ctx, r.q,
				"SELECT seq FROM audit_entries WHERE seq >= ? ORDER BY seq LIMIT 1", next); err != nil || !more {
				return db.Wrap(err, "read the chain from %d", from)
			}
		}
		from = next
	}
	return nil
}

// fill reads the entries from..end up to the byte limit. If that is reached, full is true: more entries may follow.
func (r *rangeRead) fill(ctx context.Context, from, end int64) (full bool, err error) {
	r.entries = r.entries[:0]
	if end-from >= worthJoining {
		var ok bool
		if r.entries, ok, err = readJoined(ctx, r.q, r.entries, r.private, from, end); ok || err != nil {
			return false, err
		}
	}
	query, args := rangePublic, []any{from, end}
	if r.private {
		query, args = rangePrivate, []any{from, end, from, end}
	}
	r.entries, full, err = read(ctx, r.q, r.scanner, r.entries, windowBytes, query, args...)
	return full, err
}
