package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of a page.
const (
	defaultPage = 200
	maxPage     = 1000
	// recordsPerRead bounds one statement's text.
	recordsPerRead = 200
)

// position is a run's position in the list, which a cursor contains.
type position struct {
	At  time.Time `json:"t"`
	Seq int64     `json:"s"`
}

// List leaves out the host lists of a run's documents too. It sorts runs by creation, and runs that were found by
// words by the order in which they were stored.
func (s *Store) List(ctx context.Context, f runs.Filter) (*runs.List, error) {
	if f.Cursor != "" {
		if err := page.Decode(f.Cursor, &position{}); err != nil {
			return nil, err
		}
	}
	p, err := s.plan(ctx, &f)
	if err != nil {
		return nil, err
	}
	out := &runs.List{}
	if !f.SkipTotal {
		if out.Total, out.TotalCapped, err = s.total(ctx, &f, p); err != nil {
			return nil, fmt.Errorf("count the runs of a list: %w", err)
		}
	}
	if p.empty {
		return out, nil
	}
	limit := page.Clamp(f.Limit, defaultPage, maxPage)
	query, err := p.versions(&f, limit+1)
	if err != nil {
		return nil, err
	}
	out.Runs, err = s.page(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	if len(out.Runs) > limit {
		out.Runs, out.HasMore = out.Runs[:limit], true
		out.NextCursor = cursorAt(out.Runs[limit-1])
	}
	if len(out.Runs) > 0 {
		out.FirstCursor = cursorAt(out.Runs[0])
	}
	return out, nil
}

func cursorAt(r *runs.Run) string { return page.Encode(position{r.CreatedAt, r.Seq}) }

// page reads the records at the positions, in their order. It takes cached records of ended runs.
func (s *Store) page(ctx context.Context, query sqlText) ([]*runs.Run, error) {
	q := s.d.Read(ctx)
	// An open unit may show an end that is rolled back, and the next one would have the same revision.
	_, outside := s.d.Write(ctx)
	inUnit := outside == nil
	found, err := versions(ctx, q, query)
	if err != nil {
		return nil, err
	}
	out, missing := s.ended.get(found)
	if len(missing) == 0 {
		return out, nil
	}
	known := make(map[int64]*runs.Run, len(missing))
	for part := range slices.Chunk(missing, recordsPerRead) {
		read, _, err := s.scan(ctx, q, !withDocuments, s.models.selectRun+" WHERE r.seq IN ("+marks(len(part))+")", part...)
		if err != nil {
			return nil, err
		}
		for _, r := range read {
			known[r.Seq] = r
			if !inUnit {
				s.ended.put(r)
			}
		}
	}
	for i, v := range found {
		if out[i] == nil {
			out[i] = known[v.seq]
		}
	}
	// A record that is still missing was deleted since its position was read.
	return slices.DeleteFunc(out, func(r *runs.Run) bool { return r == nil }), nil
}

// version is a run's position and revision.
type version struct{ seq, revision int64 }

// versions reads positions. Lists are read often, so that the targets of their scan are made once.
func versions(ctx context.Context, q bun.IDB, query sqlText) (out []version, err error) {
	rows, err := q.QueryContext(ctx, query.text, query.args...)
	if err != nil {
		return nil, db.Translate(err)
	}
	var p version
	targets := []any{&p.seq, &p.revision}
	for err == nil && rows.Next() {
		err = rows.Scan(targets...)
		out = append(out, p)
	}
	return out, db.Translate(errors.Join(err, rows.Err(), rows.Close()))
}

// plan describes how a list is read.
type plan struct {
	branches []branch
	bySeq    bool // a search by words has only the order of storing
	empty    bool // no run can match
	apart    bool // no run is in two of the branches
	narrowed bool // some runs are hidden from the reader
}

// plan chooses the index that the list walks: that of the words if there are any, else that of the term with the
// fewest runs. The SQL of a list is raw because it joins branches that each walk one index.
func (s *Store) plan(ctx context.Context, f *runs.Filter) (*plan, error) {
	p, narrow, err := s.walk(ctx, f)
	if err != nil || p.empty {
		return p, err
	}
	for i := range p.branches {
		p.branches[i].narrow(narrow, f)
	}
	return p, nil
}

// walk chooses the index, and returns the filters that are conditions on the runs that it finds.
func (s *Store) walk(ctx context.Context, f *runs.Filter) (*plan, []term, error) {
	narrow := terms(f)
	p := &plan{branches: []branch{onRuns()}}
	var hidden []term // filters without an index to walk
	if !f.Scope.All {
		v, err := s.view(ctx, f.Scope)
		if err != nil {
			return nil, nil, fmt.Errorf("plan a list: %w", err)
		}
		p.narrowed = v.hides
		switch t := v.term(); {
		case v.nothing():
			return &plan{empty: true, narrowed: true}, nil, nil
		case len(t.branches) > 0:
			narrow = append(narrow, t)
		default:
			hidden = []term{t}
		}
	}
	switch {
	case len(f.Terms) > 0:
		prefixes := termsOf(f.Terms...)
		if len(prefixes) == 0 {
			return &plan{empty: true}, nil, nil
		}
		match := sqlOf("")
		match.text, match.args = s.dialect.SearchMatch(searchTable, prefixes)
		p.bySeq = true
		p.branches = []branch{{from: searchTable, seq: searchTable + "." + s.dialect.SearchKey(), where: []sqlText{match}}}
	case len(narrow) > 0:
		driver := 0
		if len(narrow) > 1 {
			var err error
			if driver, err = s.rarest(ctx, narrow); err != nil {
				return nil, nil, fmt.Errorf("plan a list: %w", err)
			}
		}
		p.branches, p.apart = narrow[driver].branches, narrow[driver].apart
		narrow = append(narrow[:driver:driver], narrow[driver+1:]...)
	}
	return p, append(narrow, hidden...), nil
}

// narrow adds the conditions of the other terms to the branch, and joins the run's row if they need it.
func (b *branch) narrow(rest []term, f *runs.Filter) {
	onRow := b.from == runsTable
	needsRow := slices.ContainsFunc(rest, func(t term) bool { return t.onRow })
	if times := between("r.created_at", f); !onRow && (needsRow || b.at == "" && len(times) > 0) {
		b.from += " CROSS JOIN runs AS r"
		b.where = append(b.where, sqlOf("r.seq = "+b.seq))
		if b.at == "" {
			b.where = append(b.where, times...)
		}
	}
	if b.at != "" {
		b.where = append(b.where, between(b.at, f)...)
	}
	for _, t := range rest {
		b.where = append(b.where, t.residual(b))
	}
}

// rarest finds the term with the fewest runs. It counts up to the cap of totals.
func (s *Store) rarest(ctx context.Context, narrow []term) (int, error) {
	counts := make([]sqlText, len(narrow))
	for i, t := range narrow {
		c := countUpTo(t.branches, t.apart, s.cap+1)
		counts[i] = sqlText{"SELECT CAST(? AS BIGINT) AS term, (" + c.text + ") AS n", append([]any{i}, c.args...)}
	}
	all := join(counts, " UNION ALL ")
	return db.Count(ctx, s.d.Read(ctx), "SELECT term FROM ("+all.text+") AS t ORDER BY n, term LIMIT 1", all.args...)
}

// total counts the list. It uses the counters, which are exact, if only they restrict the list and no run is hidden
// from the reader. Otherwise it counts up to the cap.
func (s *Store) total(ctx context.Context, f *runs.Filter, p *plan) (int, bool, error) {
	if p.empty {
		return 0, false, nil
	}
	if !f.Filtered() && !p.narrowed {
		n, err := s.topCount(ctx, nil, "")
		return int(n), false, err
	}
	var n int64
	var err error
	plain := runs.Filter{Statuses: f.Statuses, Queue: f.Queue}
	if rest := *f; !p.narrowed && withoutCounted(&rest) {
		n, err = s.topCount(ctx, plain.Statuses, plain.Queue)
	} else {
		c := countUpTo(p.branches, p.apart, s.cap+1)
		n, _, err = db.QueryRow[int64](ctx, s.d.Read(ctx), c.text, c.args...)
	}
	return int(min(n, int64(s.cap))), n > int64(s.cap), err
}

// withoutCounted reports whether the filter has only values that the counters cover.
func withoutCounted(f *runs.Filter) bool {
	f.Statuses, f.Queue = nil, ""
	return !f.Filtered()
}

// countUpTo counts the runs of the branches up to the limit.
func countUpTo(branches []branch, apart bool, limit int) sqlText {
	parts := make([]sqlText, len(branches))
	for i := range branches {
		parts[i] = branches[i].rows("", limit)
	}
	all := join(parts, union(apart))
	return sqlText{"SELECT count(*) FROM (SELECT 1 FROM (" + all.text + ") AS b" + db.Limit + ") AS c",
		append(all.args, limit)}
}

func union(apart bool) string {
	if apart {
		return " UNION ALL "
	}
	return " UNION "
}

// rows selects at most limit runs of the branch, arbitrary ones if there is no order.
func (b *branch) rows(order string, limit int, more ...sqlText) sqlText {
	where := join(append(b.where[:len(b.where):len(b.where)], more...), " AND ")
	head := "SELECT "
	if b.distinct {
		head += "DISTINCT "
	}
	if b.at != "" {
		head += b.at + " AS at, "
	} else {
		head += "0 AS at, "
	}
	return sqlText{
		"SELECT * FROM (" + head + b.seq + " AS seq FROM " + b.from + " WHERE " + where.text + order + db.Limit + ") AS p",
		append(where.args, limit),
	}
}

// versions selects the positions and revisions of the page's runs.
func (p *plan) versions(f *runs.Filter, limit int) (sqlText, error) {
	offset := f.Offset
	var c position
	if f.Cursor != "" {
		if err := page.Decode(f.Cursor, &c); err != nil {
			return sqlText{}, err
		}
		offset = 0
	}
	parts := make([]sqlText, len(p.branches))
	for i := range p.branches {
		b := &p.branches[i]
		var more []sqlText
		if f.Cursor != "" {
			more = append(more, p.beyond(b, c, f.Oldest))
		}
		order := " ORDER BY " + p.order(b.at, b.seq, f.Oldest)
		if len(p.branches) == 1 && b.from == runsTable && !b.distinct {
			where := join(append(b.where[:len(b.where):len(b.where)], more...), " AND ")
			return sqlText{"SELECT r.seq, r.revision FROM " + b.from + " WHERE " + where.text + order + db.Limit + " OFFSET ?",
				append(where.args, limit, offset)}, nil
		}
		parts[i] = b.rows(order, limit+offset, more...)
	}
	all := join(parts, union(p.apart))
	all.text = "SELECT r.seq, r.revision FROM (SELECT at, seq FROM (" + all.text + ") AS b ORDER BY " +
		p.order("at", "seq", f.Oldest) + db.Limit + " OFFSET ?) AS k CROSS JOIN runs AS r WHERE r.seq = k.seq ORDER BY " +
		p.order("k.at", "k.seq", f.Oldest)
	all.args = append(all.args, limit, offset)
	return all, nil
}

func (p *plan) beyond(b *branch, c position, oldest bool) sqlText {
	sign := " < "
	if oldest {
		sign = " > "
	}
	if p.bySeq {
		return sqlOf(b.seq+sign+"?", c.Seq)
	}
	return sqlOf("("+b.at+", "+b.seq+")"+sign+"(?, ?)", db.At(c.At), c.Seq)
}

func (p *plan) order(at, seq string, oldest bool) string {
	columns := []string{at, seq}
	if p.bySeq {
		columns = columns[1:]
	}
	if !oldest {
		for i := range columns {
			columns[i] += " DESC"
		}
	}
	return strings.Join(columns, ", ")
}
