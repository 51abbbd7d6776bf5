package arch

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"testing"
)

// TestExpressionsAreLazy refuses regular expressions that are compiled at the start of every process, and texts of lazy
// ones that do not compile.
func TestExpressionsAreLazy(t *testing.T) {
	t.Parallel()
	r := tree(t)
	known := constants(r)
	found := 0
	for _, s := range r.files {
		if s.support() {
			continue
		}
		calls(s.file, func(call *ast.CallExpr, x, name string, within []ast.Node) {
			switch {
			case x == "regexp" && name == "MustCompile" && !inFunction(within):
				t.Errorf("rule %q: %s:%d\n\twhy: expressions of variables cost every start of the program: ports/lazyregexp "+
					"compiles them when they are used", "lazy expressions", s.path, r.line(call))
			case x == "lazyregexp" && name == "New":
				found++
				text, ok := textOf(call.Args[0], path.Dir(s.path), known)
				if _, err := regexp.Compile(text); !ok || err != nil {
					t.Errorf("rule %q: %s:%d is no constant expression: %v\n\twhy: the first use of a wrong one panics",
						"lazy expressions", s.path, r.line(call), err)
				}
			}
		})
	}
	if found < 50 {
		t.Errorf("%d lazy expressions were found", found)
	}
}

func inFunction(within []ast.Node) bool {
	for _, n := range within {
		switch n.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			return true
		}
	}
	return false
}

// constants returns the values of all constants with one value, by folder and name.
func constants(r *repository) map[[2]string]ast.Expr {
	out := map[[2]string]ast.Expr{}
	for _, s := range r.files {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == len(v.Values) {
				for i, name := range v.Names {
					out[[2]string{path.Dir(s.path), name.Name}] = v.Values[i]
				}
			}
			return true
		})
	}
	return out
}

// textOf returns the value of an expression of string literals, constants of the same folder and sums of them.
func textOf(e ast.Expr, dir string, known map[[2]string]ast.Expr) (string, bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(x.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := textOf(x.X, dir, known)
		right, also := textOf(x.Y, dir, known)
		return left + right, ok && also && x.Op == token.ADD
	case *ast.Ident:
		if value := known[[2]string{dir, x.Name}]; value != nil && value != e {
			return textOf(value, dir, known)
		}
	}
	return "", false
}
