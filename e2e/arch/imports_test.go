package arch

import (
	"maps"
	"path"
	"slices"
	"testing"
)

// TestImports checks every import of every file against the rules.
func TestImports(t *testing.T) {
	t.Parallel()
	r := tree(t)
	for _, s := range r.files {
		for _, imported := range slices.Sorted(maps.Keys(s.imports())) {
			v := CheckImport(s.pkg, imported, path.Base(s.path), s.test())
			if !v.OK {
				t.Errorf("rule %q: %s:%d imports %s\n\twhy: %s", v.Rule, s.path,
					r.line(s.file.Imports[s.imports()[imported]]), imported, v.Reason)
			}
		}
	}
}

// TestRulesHaveTeeth checks imports with a known answer, so that it detects a rule that allows everything.
func TestRulesHaveTeeth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, imported, file string
		test, want           bool
	}{
		{"ports/fault", "errors", "fault.go", false, true},
		{"ports/page", "./ports/fault", "page.go", false, true},
		{"ports/fault", "./ports/runs", "fault.go", false, false},
		{"ports/extension", "./ports/fault", "tool.go", false, false},
		{"ports/proof", "./ports/proof/tree", "verify.go", false, true},
		{"ports/proof/tree", "github.com/transparency-dev/merkle/proof", "proof.go", false, true},
		{"ports/proof", "./ports/fault", "verify.go", false, false},
		{"ports/proof/keys", "./ports/audit", "key.go", false, false},
		{"ports/audit", "./ports/proof", "trail.go", false, true},
		{"ports/runs", "./ports/actor", "run.go", false, true},
		{"ports/runs", "./ports/execution", "run.go", false, false},
		{"ports/execution", "./ports/runs", "plane.go", false, true},
		{"ports/execution", "./ports/extension", "plane.go", false, true},
		{"ports/catalog", "./ports/scheduling", "x.go", false, false},
		{"ports/runs", "github.com/uptrace/bun", "run.go", false, false},
		{"ports/runs", "testing", "run.go", false, false},
		{"ports/runs/runstest", "testing", "suite.go", false, true},
		{"ports/runs/runstest", "github.com/google/go-cmp/cmp", "suite.go", false, true},
		{"ports/runs/runstest", "./platform/db", "suite.go", false, false},
		{"ports/runs", "./ports/runs/runstest", "run.go", false, false},
		{"ports/nonsense", "errors", "x.go", false, false},
		{"modules/runs", "./ports/runs", "new.go", false, true},
		{"modules/runs", "./modules/runs/internal/submit", "new.go", false, true},
		{"modules/runs", "./modules/audit", "new.go", false, false},
		{"modules/runs", "./platform/db", "new.go", false, false},
		{"modules/runs", "./adapters/sqlstore/runs", "new.go", false, false},
		{"modules/runs", "./adapters/sqlstore/runs", "new_test.go", true, true},
		{"modules/runs", "net/http", "new.go", false, false},
		{"modules/runs/internal/submit", "os/exec", "a.go", false, false},
		{"modules/runs", "database/sql", "new.go", false, false},
		{"modules/runs", "go.uber.org/fx", "module.go", false, true},
		{"modules/runs", "go.uber.org/fx", "new.go", false, false},
		{"modules/runs", "./ports/runs/runstest", "new.go", false, false},
		{"modules/other", "errors", "new.go", false, false},
		{"adapters/sqlstore/runs", "./platform/db", "store.go", false, true},
		{"adapters/sqlstore/runs", "github.com/uptrace/bun", "store.go", false, true},
		{"adapters/sqlstore/runs", "./adapters/sqlstore/audit", "store.go", false, false},
		{"adapters/sqlstore", "./adapters/sqlstore/runs", "module.go", false, true},
		{"adapters/sqlstore/runs", "./adapters/sqlstore/pack", "store.go", false, true},
		{"adapters/sqlstore/pack", "./adapters/sqlstore/runs", "pack.go", false, false},
		{"adapters/sqlstore/runs", "./modules/runs", "store.go", false, false},
		{"adapters/sqlstore/runs", "./platform/db/dbtest", "store.go", false, false},
		{"adapters/sqlstore/runs", "./platform/db/dbtest", "store_test.go", true, true},
		{"adapters/httpapi/runs", "./adapters/httpapi", "routes.go", false, true},
		{"adapters/httpapi/runs", "./adapters/httpapi/audit", "routes.go", false, false},
		{"adapters/httpapi/runs", "github.com/uptrace/bun", "routes.go", false, false},
		{"adapters/httpapi/runs", "./adapters/httpapi/httpapitest", "routes.go", false, false},
		{"adapters/httpapi/runs", "./adapters/httpapi/httpapitest", "routes_test.go", true, true},
		{"adapters/httpapi/runs", "go.uber.org/goleak", "routes.go", false, false},
		{"adapters/httpapi/httpapitest", "./adapters/httpapi", "server.go", false, true},
		{"adapters/httpapi/httpapitest", "./adapters/httpapi/runs", "server.go", false, false},
		{"adapters/httpapi/httpapitest", "go.uber.org/goleak", "server.go", false, true},
		{"adapters/httpapi/httpapitest", "github.com/uptrace/bun", "server.go", false, false},
		{"adapters/tools/script", "./adapters/tools/proc", "script.go", false, true},
		{"adapters/tools/script", "./adapters/tools/ansible", "script.go", false, false},
		{"adapters/unheard", "errors", "x.go", false, false},
		{"platform/db", "github.com/uptrace/bun", "db.go", false, true},
		{"platform/db", "./ports/tx", "db.go", false, true},
		{"platform/db", "./ports/runs", "db.go", false, false},
		{"cmd/compose", "./modules/runs", "server.go", false, true},
		{"cmd/compose", "./adapters/httpapi/httpapitest", "server.go", false, false},
		{"cmd/cli", "./modules/runs", "serve.go", false, false},
		{"cmd/cli", "./cmd/compose", "serve.go", false, true},
		{"cmd/cli", "./e2e/fleet", "serve.go", false, false},
		{"e2e/scenarios", "./cmd/compose", "a_test.go", true, true},
		{"e2e/scenarios", "./modules/runs", "a_test.go", true, false},
		{"docs", "embed", "docs.go", false, true},
		{"scripts", "errors", "x.go", false, false},
	} {
		imported := c.imported
		if len(imported) > 2 && imported[:2] == "./" {
			imported = path.Join(Module, imported)
		}
		if v := CheckImport(path.Join(Module, c.from), imported, c.file, c.test); v.OK != c.want {
			t.Errorf("%s -> %s in %s: allowed=%v, want %v (rule %q)", c.from, c.imported, c.file, v.OK, c.want, v.Rule)
		}
	}
}

// TestContractsFormNoCycle walks the list of neighbours.
func TestContractsFormNoCycle(t *testing.T) {
	t.Parallel()
	var visit func(ctx string, seen []string)
	visit = func(ctx string, seen []string) {
		if slices.Contains(seen, ctx) {
			t.Fatalf("the contracts form a cycle: %v -> %s", seen, ctx)
		}
		if !slices.Contains(Contexts(), ctx) {
			t.Errorf("%s is no context", ctx)
		}
		for _, n := range Neighbours()[ctx] {
			visit(n, append(slices.Clone(seen), ctx))
		}
	}
	for ctx := range Neighbours() {
		visit(ctx, nil)
	}
}
