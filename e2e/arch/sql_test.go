package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rawSQL lists the files of adapters/sqlstore with statements as text, with the reason of each. All others use models
// and the query builder.
func rawSQL() map[string]string {
	const prepared = "hot: the query builder writes values into the text, and only a text that comes again is kept " +
		"prepared"
	return map[string]string{
		"adapters/sqlstore/audit/chain.go":             prepared,
		"adapters/sqlstore/audit/joined.go":            "hot: a window of the chain is one row",
		"adapters/sqlstore/audit/range.go":             prepared,
		"adapters/sqlstore/audit/read.go":              "hot: a million rows are scanned to targets that are made once",
		"adapters/sqlstore/audit/tampertest/tamper.go": "it does what the store refuses",
		"adapters/sqlstore/catalog/usage.go":           prepared,
		"adapters/sqlstore/estate/fleet_rings.go": "hot: a rank scans the rings of all hosts, a part of each, to targets " +
			"that are made once",
		"adapters/sqlstore/estate/facts.go":         prepared,
		"adapters/sqlstore/estate/facts_late.go":    "scalar subqueries, which the query builder has no form for",
		"adapters/sqlstore/estate/facts_changed.go": "hot: the changes of a host come with the scopes of both readings",
		"adapters/sqlstore/estate/facts_read.go": "hot: an answer comes from one statement, so that it is of one moment, " +
			"and each branch walks one index",
		"adapters/sqlstore/identity/callers.go": prepared,
		"adapters/sqlstore/identity/readable.go": "each branch is the text that walks one index, joined to as many " +
			"others as the scope has",
		"adapters/sqlstore/identity/rights.go": "rows of several tables come from one statement, so that all are " +
			"of one moment",
		"adapters/sqlstore/notify/take.go": "a recursion steps through an index, which the query builder has no form for",
		"adapters/sqlstore/runs/busy.go":   prepared,
		"adapters/sqlstore/runs/changes.go": "lists of runs are joined to their children in one statement, which the query " +
			"builder has no form for",
		"adapters/sqlstore/runs/counts.go":   "a scalar subquery in each group, which the query builder has no form for",
		"adapters/sqlstore/runs/facets.go":   "bounded parts of a list, whose text is joined as that of the list",
		"adapters/sqlstore/runs/gated.go":    prepared,
		"adapters/sqlstore/runs/setqueue.go": "statements over slots with conditions that other files share",
		"adapters/sqlstore/runs/journal.go":  prepared,
		"adapters/sqlstore/runs/limits.go":   "statements over many runs at once, with conditions that are shared",
		"adapters/sqlstore/runs/list.go": "hot: the list chooses its index, and its text is joined from " +
			"branches that each walk one",
		"adapters/sqlstore/runs/logs.go":             prepared,
		"adapters/sqlstore/runs/move.go":             prepared,
		"adapters/sqlstore/runs/queue.go":            prepared,
		"adapters/sqlstore/runs/rows.go":             prepared,
		"adapters/sqlstore/runs/slots.go":            prepared,
		"adapters/sqlstore/runs/store.go":            prepared,
		"adapters/sqlstore/runs/waits.go":            prepared,
		"adapters/sqlstore/runs/wake.go":             prepared,
		"adapters/sqlstore/runs/view.go":             "hot: what a reader may read comes from one statement for each list",
		"adapters/sqlstore/visible/scopes/scopes.go": "conditions that others join to their statements",
	}
}

// statement matches the beginning of a statement, and clause a part of one.
func statement() *regexp.Regexp {
	return regexp.MustCompile(`^[\s(]*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|MERGE INTO|REPLACE INTO)\s`)
}

func clause() *regexp.Regexp {
	return regexp.MustCompile(
		`\b(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|VALUES|CASE WHEN|ORDER BY|LIMIT|IN|AND|SET)\b|[<>=] ?$`)
}

func text(n ast.Node) (string, bool) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	return strings.Trim(lit.Value, "`\""), true
}

// TestStatements refuses statements as text outside of the files that have a reason, and a reason without a statement.
func TestStatements(t *testing.T) {
	t.Parallel()
	r := tree(t)
	allowed, found := rawSQL(), map[string]bool{}
	for _, s := range r.in("adapters/sqlstore") {
		if s.test() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			query, ok := text(n)
			if !ok || !statement().MatchString(query) {
				return true
			}
			found[s.path] = true
			if allowed[s.path] == "" {
				t.Errorf("rule %q: %s:%d holds %q\n\twhy: a statement as text names columns that a model names already; "+
					"use the query builder, or give the file a reason in rawSQL", "statements", s.path, r.line(n), query)
			}
			return true
		})
	}
	for path := range allowed {
		if !found[path] {
			t.Errorf("rule %q: %s holds no statement and needs no reason", "statements", path)
		}
	}
}

// formats reports whether a call makes text of values.
func formats(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return false
	}
	fmts := []string{"Sprintf", "Sprint", "Sprintln", "Appendf", "Append", "Fprintf", "Fprint"}
	return x.Name == "fmt" && slices.Contains(fmts, sel.Sel.Name) ||
		x.Name == "strconv" && (strings.HasPrefix(sel.Sel.Name, "Format") || strings.HasPrefix(sel.Sel.Name, "Quote") ||
			sel.Sel.Name == "Itoa")
}

// formatted returns the calls that write values into SQL: with a piece of a statement as their format, or joined to
// one.
func formatted(f *ast.File) (out []ast.Node) {
	ast.Inspect(f, func(n ast.Node) bool {
		sum, ok := n.(*ast.BinaryExpr)
		call, isCall := n.(*ast.CallExpr)
		if !(ok && sum.Op == token.ADD) && !(isCall && formats(call)) {
			return true
		}
		sql, values := false, isCall
		ast.Inspect(n, func(n ast.Node) bool {
			if piece, ok := text(n); ok && clause().MatchString(piece) {
				sql = true
			}
			if call, ok := n.(*ast.CallExpr); ok && formats(call) {
				values = true
			}
			return true
		})
		if sql && values {
			out = append(out, n)
		}
		return !(sql && values)
	})
	return out
}

// TestValuesInSQL refuses values that are written into the text of a statement.
func TestValuesInSQL(t *testing.T) {
	t.Parallel()
	r := tree(t)
	for _, s := range append(r.in("adapters/sqlstore"), r.in("adapters/outbox")...) {
		if s.test() {
			continue
		}
		for _, n := range formatted(s.file) {
			t.Errorf("rule %q: %s:%d\n\twhy: a value is an argument; text that is made of values can say anything",
				"values in SQL", s.path, r.line(n))
		}
	}
}

// TestBareLimits refuses "LIMIT ?", which makes SQLite plan a prepared statement anew for each value.
func TestBareLimits(t *testing.T) {
	t.Parallel()
	r := tree(t)
	for _, s := range r.in("adapters") {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if piece, ok := text(n); ok && !s.test() && strings.Contains(piece, "LIMIT ?") {
				t.Errorf("rule %q: %s:%d\n\twhy: use db.Limit, whose plan stays", "bare limit", s.path, r.line(n))
			}
			return true
		})
	}
}

// TestStatementsHasTeeth tries both gates on both sides.
func TestStatementsHasTeeth(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"SELECT id FROM runs": true, "(WITH RECURSIVE n": true, "DELETE FROM runs": true, "UPDATE runs SET x = ?": true,
		"INSERT INTO runs VALUES": true,
		"o.id = ?":                false, "EXISTS (SELECT 1 FROM runs)": false, "CONFLICT (id) DO UPDATE": false,
		"select a name": false, "UPDATE": false,
	} {
		if got := statement().MatchString(query); got != want {
			t.Errorf("%q is a statement: %t", query, got)
		}
	}
	for expr, want := range map[string]bool{
		`fmt.Sprintf("SELECT %d", n)`: true, `"WHERE id = " + strconv.Itoa(n)`: true,
		`q.Where("a IN (" + fmt.Sprint(list) + ")")`: true,
		`"x = " + strconv.Quote(s)`:                  true, `fmt.Sprintf("no run %q", id)`: false,
		`"SELECT " + columns + " FROM runs"`: false,
		`"run " + strconv.Itoa(n)`:           false, `q.Where("id = ?", fmt.Sprint(id))`: false,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nvar _ = "+expr, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(formatted(f)) > 0; got != want {
			t.Errorf("%s writes a value into SQL: %t", expr, got)
		}
	}
}
