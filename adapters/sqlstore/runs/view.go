package runs

import (
	"context"

	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// fewScopes is how many scopes a reader may have for these to drive a list. A reader of more meets one of them soon,
// whatever index is walked.
const fewScopes = 16

// noScope stands for NULL where scopes are compared; ids are from 1 on.
const noScope = 0

// view is what a reader may read, in terms of scopes.
type view struct {
	plain   bool    // runs without a scope
	visible []int64 // the scopes, where there are no more than fewScopes
	many    bool    // there are more
	hides   bool    // there is something that the reader may not read
	hidden  sqlText // selects the scopes that the reader may not read
}

// hiddenScopes selects the scopes that hold an object which the reader may not read. Of most readers only a
// restricted object can be hidden, and there are fewer of those; either way each object is judged once.
func hiddenScopes(reader access.Scope) sqlText {
	if !reader.Strict {
		readable, args := visible.Where(reader, "h.id")
		return sqlText{"SELECT so.scope_id FROM access_objects AS h CROSS JOIN run_scope_objects AS so " +
			"WHERE h.restricted AND NOT " + readable + " AND so.object = h.id", args}
	}
	readable, args := visible.Where(reader, "o.object")
	return sqlText{"SELECT so.scope_id FROM run_scope_objects AS so WHERE so.object IN (SELECT o.object FROM " +
		"(SELECT DISTINCT object FROM run_scope_objects) AS o WHERE NOT " + readable + ")", args}
}

// view finds out what a reader may read. A list is bound to the scopes that are counted here, or judges all of them
// again. The statement is raw because the builder puts parentheses around the parts of a UNION, which not every
// engine takes.
func (s *Store) view(ctx context.Context, reader access.Scope) (*view, error) {
	v := &view{hidden: hiddenScopes(reader)}
	plain, plainArgs := visible.Where(reader, "d.object")
	query := join([]sqlText{
		{"SELECT 1 AS what, 0 AS id FROM (SELECT CAST(? AS TEXT) AS object) AS d WHERE " + plain,
			append([]any{defaultObject}, plainArgs...)},
		{"SELECT 2, id FROM (SELECT id FROM run_scopes WHERE id NOT IN (" + v.hidden.text + ") LIMIT ?) AS s",
			append(v.hidden.args[:len(v.hidden.args):len(v.hidden.args)], fewScopes+1)},
		{"SELECT 3, 0 WHERE EXISTS (" + v.hidden.text + ")", v.hidden.args},
	}, " UNION ALL ")
	rows, err := db.Query[struct{ What, ID int64 }](ctx, s.d.Read(ctx), query.text, query.args...)
	for _, r := range rows {
		switch r.What {
		case 1:
			v.plain = true
		case 2:
			v.visible = append(v.visible, r.ID)
		default:
			v.hides = true
		}
	}
	v.hides = v.hides || !v.plain
	if v.many = len(v.visible) > fewScopes; v.many {
		v.visible = nil
	}
	return v, err
}

// nothing reports whether there is no run that the reader may read.
func (v *view) nothing() bool { return !v.plain && !v.many && len(v.visible) == 0 }

// term narrows a list to what the reader may read. It can drive the list where something is hidden and few scopes are
// shown.
func (v *view) term() term {
	var may sqlText
	switch {
	case v.many:
		may = sqlText{"coalesce(r.scope_id, 0) NOT IN (" + v.hidden.text + ")", v.hidden.args}
		if !v.plain {
			may.text = "coalesce(r.scope_id, 0) <> 0 AND " + may.text
		}
	default:
		ids := anys(v.visible)
		if v.plain {
			ids = append(ids, noScope)
		}
		may = sqlOf("coalesce(r.scope_id, 0) IN ("+marks(len(ids))+")", ids...)
	}
	t := term{onRow: true, apart: true, residual: func(*branch) sqlText { return may }}
	if v.many || !v.hides {
		return t
	}
	for _, id := range v.visible {
		t.branches = append(t.branches, onRuns(sqlOf("r.scope_id = ?", id), sqlOf("r.scope_id IS NOT NULL")))
	}
	if v.plain {
		// Runs without a scope are in the default queue.
		t.branches = append(t.branches, onRuns(sqlOf("r.queue = ?", runs.DefaultQueue), sqlOf("coalesce(r.scope_id, 0) = 0")))
	}
	return t
}
