package audit

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
)

const (
	// The columns that repeat the leaf are read as one value: reading a column takes longer than joining it.
	publicColumns  = "e.seq, e.leaf, e.hash, concat_ws('" + separator + "', " + repeated + ")"
	privateColumns = ", COALESCE(p.disclosures, ''), COALESCE(p.detail, '')"
	repeated       = "e.id, e.at, e.action, e.actor, e.object, e.run"

	selectPublic  = "SELECT " + publicColumns + " FROM audit_entries AS e"
	selectPrivate = "SELECT " + publicColumns + privateColumns +
		" FROM audit_entries AS e LEFT JOIN audit_private AS p ON p.seq = e.seq"
	// Both tables are bounded, so that a database without statistics does not read all of the second.
	rangePublic  = selectPublic + " WHERE e.seq >= ? AND e.seq <= ? ORDER BY e.seq"
	rangePrivate = selectPrivate + " AND p.seq >= ? AND p.seq <= ? WHERE e.seq >= ? AND e.seq <= ? ORDER BY e.seq"
)

// separator stands between joined columns. Only altered values contain it, which unjoin detects.
const separator = "\n"

// scanner reads entries one after the other. It allocates its targets once, which matters for a million rows.
type scanner struct {
	e                   audit.Stored
	joined, disclosures string
	private             bool
	targets             []any
}

func newScanner(private bool) *scanner {
	s := &scanner{private: private}
	s.targets = []any{&s.e.Seq, &s.e.Leaf, (*digest)(&s.e.Hash), &s.joined}
	if private {
		s.targets = append(s.targets, &s.disclosures, &s.e.Detail)
	}
	return s
}

// scan returns the entry of a row. If clear is false, its columns have to be read one by one, see exact.
func (s *scanner) scan(r *sql.Rows) (e audit.Stored, clear bool, err error) {
	if err := r.Scan(s.targets...); err != nil {
		return audit.Stored{}, false, err
	}
	e = s.e
	e.Disclosures = list(s.disclosures)
	return e, unjoin(s.joined, &e), nil
}

// unjoin splits the joined columns. With an extra separator the split is ambiguous.
func unjoin(joined string, e *audit.Stored) bool {
	for _, into := range []*string{&e.ID, &e.At, &e.Action, &e.Actor, &e.Object} {
		var ok bool
		if *into, joined, ok = strings.Cut(joined, separator); !ok {
			return false
		}
	}
	e.Run = joined
	return !strings.Contains(joined, separator)
}

// list decodes disclosures as written by appendPrivate. Altered text that is not a list is returned as one element.
func list(text string) (out []string) { return new(lists).list(text) }

// listsAtOnce is how many texts lists has memory for.
const listsAtOnce = 512

// lists decodes disclosures. The lists share memory.
type lists struct{ texts []string }

func (l *lists) list(text string) (out []string) {
	if text == "" {
		return nil
	}
	const between = `","`
	inner, ok := strings.CutPrefix(text, `["`)
	if inner, ok2 := strings.CutSuffix(inner, `"]`); ok && ok2 && strings.IndexByte(inner, '\\') < 0 {
		if n := 1 + strings.Count(inner, between); cap(l.texts)-len(l.texts) < n {
			l.texts = make([]string, 0, max(n, listsAtOnce))
		}
		from := len(l.texts)
		for more := true; more; {
			var one string
			one, inner, more = strings.Cut(inner, between)
			l.texts = append(l.texts, one)
		}
		return l.texts[from:len(l.texts):len(l.texts)]
	}
	if json.Unmarshal([]byte(text), &out) != nil {
		return []string{text}
	}
	return out
}

// exact reads the joined columns of an entry one by one.
func exact(ctx context.Context, q bun.IDB, e *audit.Stored) error {
	err := q.QueryRowContext(ctx, "SELECT "+repeated+" FROM audit_entries AS e WHERE e.seq = ?", e.Seq).
		Scan(&e.ID, &e.At, &e.Action, &e.Actor, &e.Object, &e.Run)
	return db.Translate(err)
}

// read appends the entries of a query to those in into. It stops at maxBytes; then full is true.
func read(ctx context.Context, q bun.IDB, s *scanner, into []audit.Stored, maxBytes int, query string, args ...any) (
	out []audit.Stored, full bool, err error,
) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return into, false, db.Translate(err)
	}
	var unclear []int
	bytes := 0
	for bytes < maxBytes && rows.Next() {
		e, clear, scanned := s.scan(rows)
		if err = scanned; err != nil {
			break
		}
		if !clear {
			unclear = append(unclear, len(into))
		}
		bytes += len(e.Leaf) + len(s.joined) + len(s.disclosures) + len(e.Detail)
		into = append(into, e)
	}
	if err = db.Translate(errors.Join(err, rows.Err(), rows.Close())); err != nil {
		return into, false, err
	}
	for _, i := range unclear {
		if err := exact(ctx, q, &into[i]); err != nil {
			return into, false, err
		}
	}
	return into, bytes >= maxBytes, nil
}

func (s *Store) Page(ctx context.Context, f audit.Filter) ([]audit.Stored, bool, error) {
	limit := min(max(f.Limit, 0), math.MaxInt32)
	var where []string
	var args []any
	narrow := func(condition string, arg any) {
		where, args = append(where, condition), append(args, arg)
	}
	// The conditions on empty values match those of the indexes.
	if f.Actor != "" {
		narrow("e.actor = ? AND e.actor <> ''", f.Actor)
	}
	if f.Object != "" {
		narrow("e.object = ? AND e.object <> ''", f.Object)
	}
	if f.Before > 0 {
		narrow("e.seq < ?", f.Before)
	}
	query := selectPrivate
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	found, _, err := read(ctx, s.d.Read(ctx), newScanner(true), nil, math.MaxInt, query+" ORDER BY e.seq DESC"+db.Limit,
		append(args, limit+1)...)
	if err != nil {
		return nil, false, fmt.Errorf("read a page of the trail: %w", err)
	}
	if len(found) > limit {
		return found[:limit], true, nil
	}
	return found, false, nil
}

func (s *Store) OfRun(ctx context.Context, run string, limit int) ([]audit.Stored, error) {
	found, _, err := read(ctx, s.d.Read(ctx), newScanner(true), nil, math.MaxInt,
		selectPrivate+" WHERE e.seq IN (SELECT f.seq FROM ("+ofRun+
			" ORDER BY seq"+db.Limit+") AS f) ORDER BY e.seq", runArgs(run, max(limit, 0))...)
	return found, db.Wrap(err, "read the entries of run %s", run)
}

// Count counts rows and does not use the head, so it takes as long as reading the rows.
func (s *Store) Count(ctx context.Context) (n, last int64, err error) {
	c, _, err := db.QueryRow[struct{ N, Last int64 }](ctx, s.d.Read(ctx),
		"SELECT count(*) AS n, COALESCE(max(seq), 0) AS last FROM audit_entries")
	if err != nil {
		return 0, 0, fmt.Errorf("count the chain: %w", err)
	}
	return c.N, c.Last, nil
}
