package audit

import (
	"context"
	"strconv"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
)

// A window is read as one row with joined texts and concatenated hashes, and its private parts as another one.
// Transferring a row takes longer than finding it, so one row of all entries costs half as much as a row for each.
//
// Rows with a NULL or with a hash of another length, which only tampering makes, are left out, so that they count as
// missing: if anything differs from the expected form, the window is read row by row. So it is if a private part is
// long, since rows are read within the byte limit.
const (
	joinedFields = 8
	selectJoined = "SELECT count(*), COALESCE(string_agg(concat_ws('" + separator + "', e.seq, e.leaf, " + repeated +
		"), '" + separator + "'), ''), COALESCE(string_agg(e.hash, ''), '') FROM audit_entries AS e WHERE e.seq >= ? AND " +
		"e.seq <= ? AND length(e.hash) = 32 AND e.leaf IS NOT NULL AND e.id IS NOT NULL AND e.at IS NOT NULL AND e.action " +
		"IS NOT NULL AND e.actor IS NOT NULL AND e.object IS NOT NULL AND e.run IS NOT NULL"

	privateFields = 3
	joinPrivate   = "SELECT count(*), count(t.joined), COALESCE(string_agg(t.joined, '" + separator + "'), '') FROM " +
		"(SELECT CASE WHEN octet_length(p.disclosures) + octet_length(p.detail) <= ? THEN concat_ws('" + separator +
		"', p.seq, p.disclosures, p.detail) END AS joined FROM audit_private AS p WHERE p.seq >= ? AND p.seq <= ?) AS t"
	// longPrivate bounds the bytes of a joined private part.
	longPrivate = 8 << 10

	// worthJoining is the least number of entries that are read as one row.
	worthJoining = 8
)

// readJoined appends the entries from..end to those in into. If ok is false, they have to be read row by row.
func readJoined(
	ctx context.Context, q bun.IDB, into []audit.Stored, private bool, from, end int64,
) (out []audit.Stored, ok bool, err error) {
	if out, ok, err = readEntries(ctx, q, into, from, end); ok && private {
		ok, err = readPrivate(ctx, q, out[len(into):], from, end)
	}
	if !ok {
		out = into
	}
	return out, ok, err
}

func readEntries(
	ctx context.Context, q bun.IDB, into []audit.Stored, from, end int64,
) (out []audit.Stored, ok bool, err error) {
	var n int64
	var texts string
	var hashes []byte
	if err := q.QueryRowContext(ctx, selectJoined, from, end).Scan(&n, &texts, &hashes); err != nil {
		return into, false, db.Translate(err)
	}
	// The exact number of separators proves that none is part of a value.
	if n != end-from+1 || int64(len(hashes)) != n*int64(len(digest{})) ||
		int64(strings.Count(texts, separator)) != n*joinedFields-1 {
		return into, false, nil
	}
	out = into
	for i := range n {
		var e audit.Stored
		var seq string
		for _, to := range []*string{&seq, &e.Leaf, &e.ID, &e.At, &e.Action, &e.Actor, &e.Object, &e.Run} {
			*to, texts, _ = strings.Cut(texts, separator)
		}
		// The query has no ORDER BY, although the rows are usually ordered, so the order is checked here.
		if e.Seq, err = strconv.ParseInt(seq, 10, 64); err != nil || e.Seq != from+i {
			return into, false, nil
		}
		hashes = hashes[copy(e.Hash[:], hashes):]
		out = append(out, e)
	}
	return out, true, nil
}

// readPrivate adds the private parts to the entries from..end. An entry whose parts are erased meanwhile has none.
func readPrivate(ctx context.Context, q bun.IDB, entries []audit.Stored, from, end int64) (ok bool, err error) {
	var n, short int64
	var texts string
	if err := q.QueryRowContext(ctx, joinPrivate, longPrivate, from, end).Scan(&n, &short, &texts); err != nil {
		return false, db.Translate(err)
	}
	if n != short || n > 0 && int64(strings.Count(texts, separator)) != n*privateFields-1 {
		return false, nil
	}
	var own lists
	for range n {
		var text, disclosures, detail string
		for _, to := range []*string{&text, &disclosures, &detail} {
			*to, texts, _ = strings.Cut(texts, separator)
		}
		seq, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seq < from || seq > end {
			return false, nil
		}
		e := &entries[seq-from]
		e.Disclosures, e.Detail = own.list(disclosures), detail
	}
	return true, nil
}
