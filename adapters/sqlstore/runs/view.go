package runs

import (
	"context"

	"github.com/writ-automation/writ/adapters/sqlstore/visible/scopes"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// fewScopes is the maximum number of readable scopes by which a list is walked. With more scopes, any other index
// soon finds a readable run.
const fewScopes = 16

// view describes the scopes that a reader may read.
type view struct {
	plain   bool    // runs without a scope
	visible []int64 // the readable scopes, unless there are more than fewScopes
	many    bool    // there are more than fewScopes
	hides   bool    // the reader may not read some object
	hidden  sqlText // selects the scopes that the reader may not read
}

// view finds the scopes that a reader may read. A list uses the few scopes that are found here, or checks all of them
// again. The statement is raw because the builder puts parentheses around the parts of a UNION, which some engines
// refuse.
func (s *Store) view(ctx context.Context, reader access.Scope) (*view, error) {
	hidden, hiddenArgs := scopes.Hidden(reader)
	v := &view{hidden: sqlText{hidden, hiddenArgs}}
	plain, plainArgs := scopes.DefaultReadable(reader)
	query := join([]sqlText{
		{plain, plainArgs},
		{"SELECT 2, id FROM (SELECT id FROM run_scopes WHERE id NOT IN (" + v.hidden.text + ")" + db.Limit + ") AS s",
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

// nothing reports whether the reader may read no run.
func (v *view) nothing() bool { return !v.plain && !v.many && len(v.visible) == 0 }

// term restricts a list to readable runs. It has branches if some runs are hidden and few scopes are readable.
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
			ids = append(ids, scopes.Default)
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
