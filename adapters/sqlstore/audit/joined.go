package audit

import (
	"context"
	"strconv"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
)

// A window without private parts is read as one row with joined texts and concatenated hashes. Transferring a row
// takes longer than finding it, so one row of five hundred entries costs half as much as five hundred rows.
//
// Rows with a NULL or with a hash of another length, which only tampering makes, are left out, so that they count as
// missing: if anything differs from the expected form, the window is read row by row.
const (
	joinedFields = 8
	selectJoined = "SELECT count(*), COALESCE(string_agg(concat_ws('" + separator + "', e.seq, e.leaf, " + repeated +
		"), '" + separator + "'), ''), COALESCE(string_agg(e.hash, ''), '') FROM audit_entries AS e WHERE e.seq >= ? AND " +
		"e.seq <= ? AND length(e.hash) = 32 AND e.leaf IS NOT NULL AND e.id IS NOT NULL AND e.at IS NOT NULL AND e.action " +
		"IS NOT NULL AND e.actor IS NOT NULL AND e.object IS NOT NULL AND e.run IS NOT NULL"

	// worthJoining is the least number of entries that are read as one row.
	worthJoining = 8
)

// readJoined appends the entries from..end to those in into. If ok is false, they have to be read row by row.
func readJoined(
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
