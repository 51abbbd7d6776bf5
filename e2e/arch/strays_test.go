package arch

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// calls lists the calls of the form x.Name in a file, with their enclosing nodes, outermost first.
func calls(f *ast.File, fn func(call *ast.CallExpr, x, name string, within []ast.Node)) {
	var stack []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok {
			fn(call, x.Name, sel.Sel.Name, stack)
		}
		return true
	})
}

// TestClock refuses the wall clock and sleeping outside platform/clock. Tests may read the time, to limit a poll.
func TestClock(t *testing.T) {
	t.Parallel()
	r := tree(t)
	for _, s := range r.files {
		if strings.HasPrefix(s.path, "platform/clock/") || s.gen || s.support() {
			continue
		}
		if _, ok := s.imports()["time"]; !ok {
			continue
		}
		calls(s.file, func(call *ast.CallExpr, x, name string, _ []ast.Node) {
			if x == "time" && (name == "Now" || name == "Sleep") {
				t.Errorf("rule %q: %s:%d calls time.%s\n\twhy: time is a dependency (ports/clock), so that a test can own it",
					"clock", s.path, r.line(call), name)
			}
		})
	}
}

// TestNoInit refuses init functions: importing a package does nothing by itself. An extension's own binary may
// register from init; nothing in this repository needs to, but the hook that takes over a process before the packages
// of the server are initialised.
func TestNoInit(t *testing.T) {
	t.Parallel()
	r := tree(t)
	for _, s := range r.files {
		for _, decl := range s.file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && fn.Recv == nil && fn.Name.Name == "init" && !s.gen && s.path != "platform/boundary/internal/child/hook.go" {
				t.Errorf("rule %q: %s:%d\n\twhy: what happens at import cannot be ordered, configured or tested", "no init", s.path,
					r.line(fn))
			}
		}
	}
}

// dialect matches syntax of only one of the two databases, and their names.
func dialect() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(sqlite|postgres|pgdialect|\bpragma\b|skip locked|\bfor update\b|for no key update|::\s*[a-z]+|` +
		`pg_[a-z]+|\bjsonb|json_extract|json_each|->>|@>|\bilike\b|strftime|julianday|datetime\(|\bnow\(\)|clock_timestamp|unixepoch|` +
		`insert or (ignore|replace)|autoincrement|\browid\b|to_tsvector|to_timestamp|\bmatch \?|any\s*\(\s*\?|unnest\(|generate_series|advisory)`)
}

// TestDialect restricts the differences between the databases to platform/db and the migrations. Comments may mention
// them; string literals and names may not.
func TestDialect(t *testing.T) {
	t.Parallel()
	r := tree(t)
	re := dialect()
	for _, s := range append(r.in("adapters/sqlstore"), r.in("adapters/outbox")...) {
		if s.test() || strings.HasPrefix(s.path, "adapters/sqlstore/migrations/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			text := ""
			switch x := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BasicLit:
				if x.Kind == token.STRING && !strings.HasPrefix(x.Value, "`bun:") { // a tag is bun's language
					text = x.Value
				}
			case *ast.Ident:
				text = x.Name
			}
			if hit := re.FindString(text); hit != "" {
				t.Errorf("rule %q: %s:%d says %q\n\twhy: both databases run every store; a difference has one home, platform/db",
					"dialect", s.path, r.line(n), hit)
			}
			return true
		})
	}
}

// TestDialectHasTeeth tries the expression on both sides.
func TestDialectHasTeeth(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"SELECT 1 FOR UPDATE SKIP LOCKED", "x::text", "PRAGMA wal", "pg_notify(?)", "a ILIKE ?",
		"IsPostgres", "v ->> 'a'"} {
		if !dialect().MatchString(s) {
			t.Errorf("%q passes", s)
		}
	}
	for _, s := range []string{"INSERT INTO runs VALUES (?) ON CONFLICT (id) DO NOTHING", "lease_expires_at > ?",
		"UPDATE runs SET status = ? RETURNING id"} {
		if hit := dialect().FindString(s); hit != "" {
			t.Errorf("%q is refused for %q", s, hit)
		}
	}
}
