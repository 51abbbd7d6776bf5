package arch

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// The limits. A test function may be longer, since a table of cases is read as a table.
const (
	maxFunction     = 80
	maxTestFunction = 120
	maxFile         = 400
	maxMethods      = 8
	maxDependencies = 8
	maxPackageFiles = 12
	p90Function     = 40
	medianFunction  = 15
)

// TestFileSizes bounds files, tests and suites included.
func TestFileSizes(t *testing.T) {
	t.Parallel()
	files := make(map[string]int)
	for _, s := range tree(t).files {
		if !s.gen && s.lines > maxFile {
			t.Errorf("rule %q: %s has %d lines, at most %d\n\twhy: a file is read at one sitting; split it by what it is about",
				"file size", s.path, s.lines, maxFile)
		}
		if strings.HasPrefix(s.path, "modules/") && strings.Contains(s.path, "/internal/") && !s.test() {
			files[s.dir()]++
		}
	}
	for dir, n := range files {
		if n > maxPackageFiles {
			t.Errorf("rule %q: %s has %d files, at most %d\n\twhy: a package that does one thing needs few", "package size", dir,
				n, maxPackageFiles)
		}
	}
}

// TestFunctionSizes bounds single functions and the shape of all of them.
func TestFunctionSizes(t *testing.T) {
	t.Parallel()
	r := tree(t)
	var lengths []int
	for _, s := range r.files {
		if s.gen {
			continue
		}
		for _, decl := range s.file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n, limit := r.length(fn), maxFunction
			if s.support() {
				limit = maxTestFunction
			} else {
				lengths = append(lengths, n)
			}
			if n > limit {
				t.Errorf("rule %q: %s:%d %s has %d lines, at most %d\n\twhy: a function is understood as a whole or not at all",
					"function size", s.path, r.line(fn), fn.Name.Name, n, limit)
			}
		}
	}
	shape(t, lengths)
}

func shape(t *testing.T, lengths []int) {
	t.Helper()
	if len(lengths) == 0 {
		return
	}
	slices.Sort(lengths)
	median, p90 := lengths[len(lengths)/2], lengths[len(lengths)*9/10]
	t.Logf("%d functions, median %d lines, p90 %d, longest %d", len(lengths), median, p90, lengths[len(lengths)-1])
	if p90 > p90Function || median > medianFunction {
		t.Errorf("rule %q: median %d (at most %d), p90 %d (at most %d)\n\twhy: the tail is what makes a code base hard to "+
			"read",
			"function shape", median, medianFunction, p90, p90Function)
	}
}

// TestInterfaceSizes limits the methods that an interface declares itself; larger interfaces embed small roles.
func TestInterfaceSizes(t *testing.T) {
	t.Parallel()
	r := tree(t)
	eachType(r, func(s *source, spec *ast.TypeSpec) {
		it, ok := spec.Type.(*ast.InterfaceType)
		if !ok || s.gen {
			return
		}
		methods := 0
		for _, m := range it.Methods.List {
			methods += len(m.Names)
		}
		if methods > maxMethods {
			t.Errorf("rule %q: %s:%d %s has %d methods, at most %d\n\twhy: a role is implemented and faked as a whole; split "+
				"it by who calls it",
				"interface size", s.path, r.line(spec), spec.Name.Name, methods, maxMethods)
		}
	})
}

// TestDependencies limits the number of context roles in one struct. Kernel ports are not counted: every service has a
// clock and a unit of work.
func TestDependencies(t *testing.T) {
	t.Parallel()
	r := tree(t)
	roles := contextRoles(r)
	eachType(r, func(s *source, spec *ast.TypeSpec) {
		st, ok := spec.Type.(*ast.StructType)
		if !ok || s.gen || s.support() || strings.HasPrefix(s.path, "cmd/compose/") || provides(spec) {
			return
		}
		n := 0
		for _, f := range st.Fields.List {
			if roles[typeName(s, f.Type)] {
				n += max(1, len(f.Names))
			}
		}
		if n > maxDependencies {
			t.Errorf("rule %q: %s:%d %s depends on %d roles, at most %d\n\twhy: what needs so much does more than one thing; "+
				"split it",
				"dependencies", s.path, r.line(spec), spec.Name.Name, n, maxDependencies)
		}
	})
}

// provides reports whether a struct is the result of a constructor, or is filled by a container for a whole context:
// neither is the dependency of one service.
func provides(spec *ast.TypeSpec) bool {
	st, _ := spec.Type.(*ast.StructType)
	for _, f := range st.Fields.List {
		if sel, ok := f.Type.(*ast.SelectorExpr); ok && len(f.Names) == 0 && (sel.Sel.Name == "In" || sel.Sel.Name == "Out") {
			return true
		}
	}
	return strings.HasPrefix(strings.ToLower(spec.Name.Name), "result")
}

// contextRoles lists the interfaces that the contracts of contexts declare, by import path and name.
func contextRoles(r *repository) map[string]bool {
	out := make(map[string]bool)
	eachType(r, func(s *source, spec *ast.TypeSpec) {
		if _, ok := spec.Type.(*ast.InterfaceType); !ok {
			return
		}
		if parts := strings.Split(s.dir(), "/"); len(parts) == 2 && parts[0] == "ports" &&
			slices.Contains(Contexts(), parts[1]) {
			out[s.pkg+"."+spec.Name.Name] = true
		}
	})
	return out
}

// typeName resolves a named type of another package to import path and name, and is empty for any other type.
func typeName(s *source, e ast.Expr) string {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	for p, i := range s.imports() {
		name := path.Base(p)
		if alias := s.file.Imports[i].Name; alias != nil {
			name = alias.Name
		}
		if name == x.Name {
			return p + "." + sel.Sel.Name
		}
	}
	return ""
}

// eachType calls fn with every type declaration.
func eachType(r *repository, fn func(s *source, spec *ast.TypeSpec)) {
	for _, s := range r.files {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				fn(s, spec)
			}
			return true
		})
	}
}
