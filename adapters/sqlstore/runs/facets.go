package runs

import (
	"context"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// leastFacet is how many runs of each branch are looked at, however many branches there are.
const leastFacet = 100

func (s *Store) Facets(ctx context.Context, f runs.Filter) (*runs.Facets, error) {
	f.Offset, f.Cursor, f.Oldest = 0, "", false
	byStatus, byTool := f, f
	byStatus.Statuses, byTool.Tool = nil, ""
	out := &runs.Facets{Tool: map[string]int{}, Status: map[runs.Status]int{}}
	p, exact, err := s.statusCounts(ctx, byStatus, out)
	if err != nil || p.empty {
		return out, err
	}
	if !exact {
		if out.StatusAbout, err = s.facet(ctx, "status", byStatus, func(v string, n int) {
			out.Status[runs.Status(v)] = n
		}); err != nil {
			return nil, err
		}
	}
	out.ToolAbout, err = s.facet(ctx, "tool", byTool, func(v string, n int) { out.Tool[v] = n })
	return out, err
}

// statusCounts counts by the counters, if nothing but a queue restricts the list and no run is hidden from the reader.
func (s *Store) statusCounts(ctx context.Context, f runs.Filter, out *runs.Facets) (p *plan, exact bool, err error) {
	if p, _, err = s.walk(ctx, &f); err != nil || p.empty || p.narrowed {
		return p, false, err
	}
	if rest := f; !withoutCounted(&rest) {
		return p, false, nil
	}
	query, args := "SELECT status, CAST(sum(n) AS BIGINT) AS n FROM run_counts WHERE top", []any(nil)
	if f.Queue != "" {
		query, args = query+" AND queue = ?", append(args, f.Queue)
	}
	rows, err := db.Query[struct {
		Status runs.Status
		N      int
	}](ctx, s.d.Read(ctx), query+" GROUP BY status", args...)
	for _, r := range rows {
		if r.N > 0 {
			out.Status[r.Status] = r.N
		}
	}
	return p, true, db.Wrap(err, "count runs by status")
}

// facet counts the runs of a list by a column. It looks at the newest runs that the list's index finds, at most as many
// as totals count. about means that there are more.
func (s *Store) facet(
	ctx context.Context, column string, f runs.Filter, add func(string, int),
) (about bool, err error) {
	query, counted, err := s.facetQuery(ctx, column, f)
	if err != nil {
		return false, err
	}
	rows, err := db.Query[struct {
		V text
		N int
	}](ctx, s.d.Read(ctx), query.text, query.args...)
	if err != nil {
		return false, db.Wrap(err, "count runs by %s", column)
	}
	for _, r := range rows {
		add(string(r.V), r.N)
	}
	about, _, err = db.QueryRow[bool](ctx, s.d.Read(ctx), counted.text, counted.args...)
	return about, db.Wrap(err, "count runs by %s", column)
}

// facetQuery returns the statement of a facet, and one that tells whether its index has more runs. The conditions and
// the value of a run are a scalar subquery, so that every planner looks up the runs one by one.
func (s *Store) facetQuery(ctx context.Context, column string, f runs.Filter) (query, more sqlText, err error) {
	p, rest, err := s.walk(ctx, &f)
	if err != nil {
		return query, more, err
	}
	limit := max(s.cap/len(p.branches), leastFacet)
	parts, full := make([]sqlText, len(p.branches)), make([]sqlText, len(p.branches))
	for i := range p.branches {
		parts[i] = p.branches[i].newest(p, &f, limit)
		over := p.branches[i].newest(p, &f, limit+1)
		full[i] = sqlOf("EXISTS (SELECT 1 FROM ("+over.text+") AS m"+db.Limit+" OFFSET ?)", append(over.args, 1, limit)...)
	}
	found, fit := branch{at: "i.at", seq: "i.seq"}, []sqlText{sqlOf("r.seq = i.seq")}
	for _, t := range rest {
		fit = append(fit, t.residual(&found))
	}
	all, conditions := join(parts, union(p.apart)), join(append(fit, between("r.created_at", &f)...), " AND ")
	more = join(full, " OR ")
	more.text = "SELECT " + more.text + " AS more"
	return sqlText{"SELECT v, count(*) AS n FROM (SELECT (SELECT CASE WHEN " + conditions.text + " THEN coalesce(r." +
		column + ", '') END FROM runs AS r WHERE r.seq = i.seq) AS v FROM (" +
		all.text + ") AS i) AS g WHERE v IS NOT NULL " +
		"GROUP BY v",
		append(conditions.args, all.args...)}, more, nil
}

// newest selects the newest runs of a branch.
func (b *branch) newest(p *plan, f *runs.Filter, limit int) sqlText {
	walked := *b
	if b.at != "" {
		walked.where = append(b.where[:len(b.where):len(b.where)], between(b.at, f)...)
	}
	return walked.rows(" ORDER BY "+p.order(b.at, b.seq, false), limit)
}
