package estate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/visible/scopes"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/estate"
)

// look reads drift for one reader.
type look struct {
	*Store
	estate.DriftQuery
	q    bun.IDB
	all  bool
	may  []int64 // the scopes that the reader may read, unless all
	left string  // the condition of what rules leave out, empty for none
	args []any
}

func (s *Store) Findings(
	ctx context.Context, q estate.DriftQuery, reader access.Scope, now time.Time,
) (out estate.DriftPage, err error) {
	l := look{Store: s, DriftQuery: q, q: s.d.Read(ctx)}
	l.Host = clean(l.Host)
	if err := l.rights(ctx, reader); err != nil {
		return out, err
	}
	rules, err := activeIgnores(ctx, l.q, now)
	if err != nil {
		return out, err
	}
	l.left, l.args = s.leftOut(rules)
	if out.Findings, err = l.list(ctx); err != nil {
		return out, err
	}
	if out.Total, err = db.Total(ctx, l.shown(l.findings())); err != nil {
		return out, fmt.Errorf("count drift: %w", err)
	}
	if l.left != "" {
		if out.Ignored, err = db.Total(ctx, l.findings().Where(l.left, l.args...)); err != nil {
			return out, fmt.Errorf("count ignored drift: %w", err)
		}
	}
	if !l.all {
		everything := l.q.NewSelect().Model((*findingRow)(nil)).Where("f.cleared_at IS NULL")
		readable, err := db.Total(ctx, l.readable(everything.Clone(), "f"))
		if err == nil {
			out.Withheld, err = db.Total(ctx, everything)
		}
		if err != nil {
			return out, fmt.Errorf("count withheld drift: %w", err)
		}
		out.Withheld = max(0, out.Withheld-readable)
	}
	if err = l.sums(ctx, &out); err == nil {
		out.Coverage, err = l.coverage(ctx)
	}
	return out, err
}

func (s *Store) Counts(ctx context.Context) (out estate.DriftCounts, err error) {
	l := look{Store: s, q: s.d.Read(ctx), all: true}
	var rows []struct {
		Confidence estate.Confidence
		N          int64
	}
	if err := l.findings().ColumnExpr("f.confidence, COUNT(*) AS n").GroupExpr("f.confidence").
		Scan(ctx, &rows); err != nil {
		return out, db.Wrap(err, "count drift")
	}
	out.Findings = make(map[estate.Confidence]int64, len(rows))
	for _, r := range rows {
		out.Findings[r.Confidence] = r.N
	}
	var p estate.DriftPage
	err = l.sums(ctx, &p)
	out.Hosts, out.Drifting, out.Clean = p.Hosts, p.Drifting, p.Clean
	return out, err
}

// rights finds the scopes of drift that the reader may read.
func (l *look) rights(ctx context.Context, reader access.Scope) error {
	may, err := scopes.ReaderOf(ctx, l.q, reader)
	if err != nil {
		return err
	}
	if l.all = may.All(); l.all {
		return nil
	}
	var list []int64
	hosts := l.q.NewSelect().Model((*driftHost)(nil)).Column("scope_id")
	if err := l.q.NewSelect().Model((*findingRow)(nil)).Column("scope_id").Union(hosts).Scan(ctx, &list); err != nil {
		return db.Wrap(err, "find what may be read of drift")
	}
	l.may = slices.DeleteFunc(list, func(id int64) bool { return !may.May(id) })
	return nil
}

func (l *look) readable(q *bun.SelectQuery, alias string) *bun.SelectQuery {
	switch {
	case l.all:
		return q
	case len(l.may) == 0:
		return q.Where("1 = 0")
	default:
		return q.Where("?.scope_id IN (?)", bun.Ident(alias), bun.In(l.may))
	}
}

// selected restricts a query to the host and the target of the selection.
func (l *look) selected(q *bun.SelectQuery, alias string) *bun.SelectQuery {
	if l.Host != "" {
		q.Where("?.host = ?", bun.Ident(alias), l.Host)
	}
	if l.Target != "" {
		q.Where("?.target_id = ?", bun.Ident(alias), l.Target)
	}
	return l.readable(q, alias)
}

// drifting selects the findings of the hosts and targets of the selection.
func (l *look) drifting() *bun.SelectQuery {
	return l.selected(l.q.NewSelect().Model((*findingRow)(nil)).Where("f.cleared_at IS NULL"), "f")
}

func (l *look) findings() *bun.SelectQuery {
	q := l.drifting()
	if l.ReconcileRunID != "" {
		q.Where("f.reconcile_run_id = ?", l.ReconcileRunID)
	}
	return q
}

// shown leaves out what rules ignore.
func (l *look) shown(q *bun.SelectQuery) *bun.SelectQuery {
	if l.left == "" {
		return q
	}
	return q.Where("NOT "+l.left, l.args...)
}

func (l *look) list(ctx context.Context) ([]estate.Finding, error) {
	var rows []findingRow
	if err := l.shown(l.findings()).Model(&rows).OrderExpr("f.host, f.resource, f.target_id, f.finding_key").
		Apply(db.Window(l.Window)).Scan(ctx); err != nil {
		return nil, db.Wrap(err, "list drift")
	}
	var of []string
	for _, r := range rows {
		of = append(of, r.TargetID)
	}
	targets := map[string]estate.Target{}
	slices.Sort(of)
	for part := range slices.Chunk(slices.Compact(of), namesPerStatement) {
		var list []targetRow
		if err := l.q.NewSelect().Model(&list).Where("t.id IN (?)", bun.In(part)).Scan(ctx); err != nil {
			return nil, db.Wrap(err, "read targets of drift")
		}
		for _, t := range list {
			targets[t.ID] = estate.Target{ID: t.ID, TemplateID: t.TemplateID, ProjectID: t.ProjectID, Playbook: t.Playbook,
				InventoryID: t.InventoryID}
		}
	}
	return db.Convert(rows, func(r findingRow) estate.Finding { return r.finding(targets[r.TargetID]) }), nil
}

// reached selects the hosts that dry runs reached, with the numbers of their tasks.
func (l *look) reached() *bun.SelectQuery {
	return l.selected(l.q.NewSelect().Model((*driftHost)(nil)), "d").GroupExpr("d.host").
		ColumnExpr("d.host, SUM(d.checked) AS checked, SUM(d.unknown) AS unknown")
}

func (l *look) sums(ctx context.Context, out *estate.DriftPage) error {
	hosts := l.shown(l.drifting()).Distinct().ColumnExpr("f.host")
	err := l.q.NewSelect().TableExpr("(?) AS r", l.reached()).Join("LEFT JOIN (?) AS f ON f.host = r.host", hosts).
		ColumnExpr("COUNT(*) AS hosts").
		ColumnExpr("COUNT(CASE WHEN r.checked > 0 AND r.unknown = 0 AND f.host IS NULL THEN 1 END) AS clean").
		ColumnExpr("CAST(COALESCE(SUM(r.checked), 0) AS BIGINT) AS checked").
		ColumnExpr("CAST(COALESCE(SUM(r.unknown), 0) AS BIGINT) AS unknown").
		Scan(ctx, &out.Hosts, &out.Clean, &out.Checked, &out.Unknown)
	if err == nil {
		out.Drifting, err = db.Total(ctx, l.q.NewSelect().TableExpr("(?) AS x", hosts))
	}
	return db.Wrap(err, "sum what was checked for drift")
}

// coverage returns a page of the hosts that dry runs reached, with their findings as they are listed.
func (l *look) coverage(ctx context.Context) ([]estate.HostDrift, error) {
	var rows []struct {
		Host             string
		Checked, Unknown int
		CheckedAt        time.Time
	}
	if err := l.reached().ColumnExpr("MAX(d.checked_at) AS checked_at").OrderExpr("d.host").Apply(db.Window(l.Window)).
		Scan(ctx, &rows); err != nil || len(rows) == 0 {
		return nil, db.Wrap(err, "list the hosts that were checked for drift")
	}
	names := make([]string, len(rows))
	out := make([]estate.HostDrift, len(rows))
	at := make(map[string]*estate.HostDrift, len(rows))
	for i, r := range rows {
		names[i] = r.Host
		out[i] = estate.HostDrift{Host: r.Host, Checked: r.Checked, Unknown: r.Unknown, CheckedAt: r.CheckedAt.UTC()}
		at[r.Host] = &out[i]
	}
	for part := range slices.Chunk(names, namesPerStatement) {
		var counts []struct {
			Host string
			N    int
		}
		if err := l.shown(l.findings()).ColumnExpr("f.host, COUNT(*) AS n").Where("f.host IN (?)", bun.In(part)).
			GroupExpr("f.host").Scan(ctx, &counts); err != nil {
			return nil, db.Wrap(err, "count the drift of hosts")
		}
		for _, c := range counts {
			at[c.Host].Drifted = c.N
		}
	}
	return out, nil
}

// leftOut returns the condition of findings that a rule leaves out, or nothing without rules.
func (s *Store) leftOut(rules []estate.Ignore) (text string, args []any) {
	var parts []string
	for _, r := range rules {
		host, pattern := s.dialect.Fits("f.host", r.Host)
		resource, other := s.dialect.Fits("f.resource", r.Resource)
		parts, args = append(parts, "("+host+" AND "+resource+")"), append(args, pattern, other)
	}
	if len(parts) > 0 {
		text = "(" + strings.Join(parts, " OR ") + ")"
	}
	return text, args
}

func (s *Store) Bind(ctx context.Context, runID string, findings []string) error {
	q := s.d.InUnit(ctx)
	for part := range slices.Chunk(findings, namesPerStatement) {
		if _, err := db.Modify(ctx, q.NewUpdate().Model((*findingRow)(nil)).Set("reconcile_run_id = ?", runID).
			Where("id IN (?)", bun.In(part))); err != nil {
			return fmt.Errorf("bind drift to run %s: %w", runID, err)
		}
	}
	return nil
}

func (s *Store) Repairs(ctx context.Context, runID string) ([]string, error) {
	var out []string
	err := s.d.Read(ctx).NewSelect().Model((*findingRow)(nil)).Column("id").Where("f.reconcile_run_id = ?", runID).
		Where("f.cleared_at IS NULL").OrderExpr("f.id").Scan(ctx, &out)
	return out, db.Wrap(err, "read the drift that run %s repairs", runID)
}
