package runs

import (
	"slices"
	"strings"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// A filtered list reads one index: a branch walks that index in the order of the list. The other filters are
// conditions on the runs that the branch finds, written so that no planner uses an index for them.

// sqlText is a piece of SQL with its arguments.
type sqlText struct {
	text string
	args []any
}

func sqlOf(text string, args ...any) sqlText { return sqlText{text, args} }

// branch walks one index. The columns at and seq of the table from belong to the listed run.
type branch struct {
	from     string
	at, seq  string
	where    []sqlText
	distinct bool
}

// term is one filter of a list. The list walks either the branches of this term or those of another one; residual
// then returns this term's condition on the runs of that branch. If onRow is set, the condition reads the run's row
// as r.
type term struct {
	branches []branch
	residual func(b *branch) sqlText
	onRow    bool
	apart    bool // no run is in two of the branches
}

// column returns the term for a column of runs that has one of the values.
func column[T ~string](name string, values []T, present bool) term {
	among := sqlOf("coalesce(r."+name+", '') IN ("+marks(len(values))+")", anys(values)...)
	t := term{onRow: true, residual: func(*branch) sqlText { return among }}
	for _, v := range slices.Compact(slices.Sorted(slices.Values(values))) {
		b := onRuns(sqlOf("r."+name+" = ?", v))
		if present {
			b.where = append(b.where, sqlOf("r."+name+" IS NOT NULL"))
		}
		t.branches = append(t.branches, b)
	}
	return t
}

// showing leaves the runs out that hide a text. The list of hidden texts is of digests alone, and of the one word that
// hides all.
func showing(text string) sqlText {
	return sqlOf("(r.hidden IS NULL OR r.hidden NOT LIKE ? AND r.hidden NOT LIKE '%*%')", "%"+runs.TextDigest(text)+"%")
}

// shown leaves the runs out that hide the text which the term looks for.
func shown(t term, text string) term {
	c := showing(text)
	for i := range t.branches {
		t.branches[i].where = append(t.branches[i].where, c)
	}
	was := t.residual
	t.residual = func(b *branch) sqlText { return join([]sqlText{was(b), c}, " AND ") }
	return t
}

// runsTable is what branches walk that need no other table.
const runsTable = "runs AS r"

func onRuns(where ...sqlText) branch {
	return branch{from: runsTable, at: "r.created_at", seq: "r.seq",
		where: append([]sqlText{sqlOf("r.parent_id IS NULL")}, where...)}
}

func label(key, value string) term {
	return term{
		branches: []branch{{
			from: "run_labels AS x", at: "x.created_at", seq: "x.run_seq",
			where: []sqlText{sqlOf("x.key = ? AND x.value = ?", key, value)},
		}},
		residual: func(b *branch) sqlText {
			return sqlOf("EXISTS (SELECT 1 FROM run_labels AS l WHERE l.run_seq = "+b.seq+" AND l.key = ? AND l.value = ?)",
				key, value)
		},
	}
}

// summary returns the term for a host or a task. A parent matches for its children.
func summary(table, name, value string) term {
	return term{
		branches: []branch{{
			from: table + " AS x", at: "x.listed_at", seq: "x.listed_seq", distinct: true,
			where: []sqlText{sqlOf("x."+name+" = ?", value)},
		}},
		onRow: true,
		residual: func(*branch) sqlText {
			return sqlOf("EXISTS (SELECT 1 FROM "+table+" AS h WHERE h."+name+
				" = ? AND h.listed_at = r.created_at AND h.listed_seq = r.seq)", value)
		},
	}
}

func byActor(who string) term {
	either := sqlOf("(coalesce(r.actor_id, '') = ? OR coalesce(r.actor_name, '') = ?)", who, who)
	t := term{onRow: true, residual: func(*branch) sqlText { return either }}
	for _, c := range []string{"actor_id", "actor_name"} {
		t.branches = append(t.branches, onRuns(sqlOf("r."+c+" = ?", who), sqlOf("r."+c+" IS NOT NULL")))
	}
	return t
}

// terms returns the filters of the list except words and time, the most selective kind first.
func terms(f *runs.Filter) []term {
	var out []term
	if f.Host != "" {
		out = append(out, summary("run_hosts", "host", f.Host))
	}
	if f.Task != "" {
		out = append(out, summary("run_tasks", "task", f.Task))
	}
	for k, v := range f.Labels {
		out = append(out, label(k, v))
	}
	if f.Change != "" {
		out = append(out, shown(column("change_label", []string{f.Change}, true), f.Change))
	}
	if len(f.Templates) > 0 {
		out = append(out, column("lineage", f.Templates, true)) // runs of the template, whatever launched them
	}
	if f.Actor != "" {
		out = append(out, byActor(f.Actor))
	}
	if len(f.Statuses) > 0 {
		out = append(out, column("status", f.Statuses, false))
	}
	if len(f.Sources) > 0 {
		out = append(out, column("source", f.Sources, false))
	}
	if f.Tool != "" {
		out = append(out, column("tool", []string{f.Tool}, false))
	}
	if f.Queue != "" {
		out = append(out, column("queue", []string{f.Queue}, false))
	}
	return out
}

// between returns the conditions on the time of creation, which the column at holds.
func between(at string, f *runs.Filter) []sqlText {
	var out []sqlText
	if !f.After.IsZero() {
		out = append(out, sqlOf(at+" >= ?", db.At(f.After)))
	}
	if !f.Before.IsZero() {
		out = append(out, sqlOf(at+" < ?", db.At(f.Before)))
	}
	return out
}

func join(parts []sqlText, sep string) sqlText {
	texts := make([]string, len(parts))
	var args []any
	for i, p := range parts {
		texts[i] = p.text
		args = append(args, p.args...)
	}
	return sqlText{strings.Join(texts, sep), args}
}
