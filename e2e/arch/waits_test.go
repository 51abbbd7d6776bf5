package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sleepers are the tests that may wait for the time to pass outside of a bubble, with the reason. A folder ends with a
// slash.
func sleepers() map[string]string {
	return map[string]string{
		"e2e/":                                   "the servers are processes of their own, whose time no bubble owns",
		"adapters/sqlstore/catalog/hold_test.go": "that a statement waits for a lock of the database shows by its not ending",
		"adapters/sqlstore/secrets/hold_test.go": "that a statement waits for a lock of the database shows by its not ending",
		"modules/audit/internal/record/":         "that a statement waits for a lock of the database shows by its not ending",
		"modules/secrets/internal/credentials/":  "that a statement waits for a lock of the database shows by its not ending",
		"ports/identity/identitytest/admins.go":  "that a statement waits for a lock of the database shows by its not ending",
		"ports/catalog/catalogtest/due.go":       "the clock is the database's",
		"modules/secrets/internal/provide/":      "that nobody stops an engine shows by its not being stopped",
		"platform/httpserver/server_test.go":     "connections and their limits are the kernel's",
	}
}

// TestSleeps refuses tests that wait for real time outside a bubble of testing/synctest: time.Sleep, a receive from
// time.After, and a select that continues when time.After fires. A select that then fails limits a wait for another
// event, and a pause of at most 50 ms in a loop belongs to a poll.
func TestSleeps(t *testing.T) {
	t.Parallel()
	r := tree(t)
	used := make(map[string]bool)
	for _, s := range r.files {
		if _, bubble := s.imports()["testing/synctest"]; bubble || !s.support() || s.gen {
			continue
		}
		calls(s.file, func(call *ast.CallExpr, x, name string, within []ast.Node) {
			if !sleeps(call, x, name, within) {
				return
			}
			for place := range sleepers() {
				if s.path == place || strings.HasSuffix(place, "/") && strings.HasPrefix(s.path, place) {
					used[place] = true
					return
				}
			}
			t.Errorf("rule %q: %s:%d calls time.%s\n\twhy: wait for the event itself, or own the time in a bubble; a sleep is "+
				"too short on a busy machine and too long on all others", "no sleeps", s.path, r.line(call), name)
		})
	}
	for place := range sleepers() {
		if !used[place] {
			t.Errorf("rule %q: nothing in %s sleeps\n\twhy: an exception that nobody needs hides the next one",
				"no sleeps", place)
		}
	}
}

// TestSleepsHasTeeth tests the rule with allowed and with forbidden calls.
func TestSleepsHasTeeth(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		"time.Sleep(d)":                                                        true,
		"time.Sleep(time.Millisecond)":                                         true,
		"<-time.After(20*time.Millisecond)":                                    true,
		"select { case <-done: case <-time.After(d): }":                        true,
		"for !ok() { time.Sleep(time.Second) }":                                true,
		"for !ok() { go func() { time.Sleep(time.Millisecond) }() }":           true,
		"for !ok() { time.Sleep(50 * time.Millisecond) }":                      false,
		"for ; !ok(); time.Sleep(time.Millisecond) {}":                         false,
		"select { case <-done: case <-time.After(d): t.Fatal() }":              false,
		"limit := time.After(d); select { case <-done: case <-limit: fail() }": false,
		"time.Now()": false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() {\n"+body+"\n}",
			parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(body, err)
		}
		got := false
		calls(file, func(call *ast.CallExpr, x, name string, within []ast.Node) {
			got = got || sleeps(call, x, name, within)
		})
		if got != want {
			t.Errorf("%s: %t, want %t", body, got, want)
		}
	}
}

// sleeps reports whether a call waits for the time to pass and for nothing else.
func sleeps(call *ast.CallExpr, x, name string, within []ast.Node) bool {
	return x == "time" && (name == "Sleep" || name == "After" && !bounds(within)) && !polls(call, within)
}

// polls reports whether a call is the short pause of a loop in its own function.
func polls(call *ast.CallExpr, within []ast.Node) bool {
	inLoop := false
	for _, n := range within {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			inLoop = true
		case *ast.FuncLit:
			inLoop = false
		}
	}
	n, unit := 1, call.Args[0]
	if d, ok := unit.(*ast.BinaryExpr); ok && d.Op == token.MUL {
		count, ok := d.X.(*ast.BasicLit)
		if !ok {
			return false
		}
		var err error
		if n, err = strconv.Atoi(count.Value); err != nil {
			return false
		}
		unit = d.Y
	}
	sel, ok := unit.(*ast.SelectorExpr)
	return ok && inLoop && sel.Sel.Name == "Millisecond" && n <= 50
}

// bounds reports whether a call of time.After limits a wait: the test fails, or the function returns, when it fires.
func bounds(within []ast.Node) bool {
	for i, n := range within {
		clause, ok := n.(*ast.CommClause)
		if !ok || i+1 >= len(within) || within[i+1] != ast.Node(clause.Comm) {
			continue
		}
		gives := false
		ast.Inspect(&ast.BlockStmt{List: clause.Body}, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.SelectorExpr:
				gives = gives || slices.Contains([]string{"Fatal", "Fatalf", "Error", "Errorf", "FailNow"}, x.Sel.Name)
			case *ast.Ident:
				gives = gives || x.Name == "panic"
			}
			return true
		})
		return gives
	}
	for _, n := range within { // limit := time.After(d), which a select receives from
		if _, ok := n.(*ast.AssignStmt); ok {
			return true
		}
	}
	return false
}

// TestSkips refuses skipped tests: a missing tool is a failure that explains how to install it, and test data is in the
// repository. Discarding one draw of a property test is not a skip.
func TestSkips(t *testing.T) {
	t.Parallel()
	r := tree(t)
	for _, s := range r.files {
		var within []ast.Node
		ast.Inspect(s.file, func(n ast.Node) bool {
			if n == nil {
				within = within[:len(within)-1]
				return true
			}
			within = append(within, n)
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !s.support() || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
				return true
			}
			x, isIdent := sel.X.(*ast.Ident)
			if field, ok := sel.X.(*ast.SelectorExpr); ok {
				x = field.Sel
			}
			if x != nil && slices.Contains([]string{"t", "b", "tb", "f", "rt"}, x.Name) && (!isIdent || !draws(within, x.Name)) {
				t.Errorf("rule %q: %s:%d\n\twhy: a test that is left out is a green light nobody earned", "no skips", s.path,
					r.line(call))
			}
			return true
		})
	}
}

// draws reports whether the name is, in the innermost function that declares it, a property test's own t.
func draws(within []ast.Node, name string) bool {
	for _, n := range slices.Backward(within) {
		lit, ok := n.(*ast.FuncLit)
		if !ok {
			continue
		}
		for _, param := range lit.Type.Params.List {
			star, isStar := param.Type.(*ast.StarExpr)
			if !isStar || len(param.Names) != 1 || param.Names[0].Name != name {
				continue
			}
			sel, isSel := star.X.(*ast.SelectorExpr)
			if !isSel {
				return false
			}
			pkg, isIdent := sel.X.(*ast.Ident)
			return isIdent && pkg.Name == "rapid"
		}
	}
	return false
}
