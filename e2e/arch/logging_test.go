package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestLoggingPage holds the table in docs/reference/logging.md to the calls that log.
func TestLoggingPage(t *testing.T) {
	t.Parallel()
	r := tree(t)
	consts, rows := map[string]string{}, map[string]bool{}
	for _, s := range r.files {
		if !s.support() {
			namedTexts(s, consts)
		}
	}
	for _, s := range r.files {
		if s.support() || strings.HasPrefix(s.path, "e2e/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if row := logged(s, call, consts); row != "" {
					rows[row] = true
				}
			}
			return true
		})
	}
	list := make([]string, 0, len(rows))
	for row := range rows {
		list = append(list, row)
	}
	slices.Sort(list)
	section(t, "docs/reference/logging.md", "messages",
		"| Message | Level | Keys |\n|---|---|---|\n"+strings.Join(list, "\n")+"\n")
}

// namedTexts collects the texts of constants by folder and name.
func namedTexts(s *source, into map[string]string) {
	for _, d := range s.file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			v, ok := spec.(*ast.ValueSpec)
			for i := range v.Names {
				if ok && i < len(v.Values) {
					if text, ok := literal(s, v.Values[i], nil); ok {
						into[s.dir()+"."+v.Names[i].Name] = text
					}
				}
			}
		}
	}
}

// literal returns the text of a literal, of a constant of the same folder, or of a sum of these.
func literal(s *source, e ast.Expr, consts map[string]string) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.Ident:
		text, ok := consts[s.dir()+"."+e.Name]
		return text, ok
	case *ast.BinaryExpr:
		left, ok := literal(s, e.X, consts)
		right, also := literal(s, e.Y, consts)
		return left + right, ok && also && e.Op == token.ADD
	}
	return "", false
}

// logged returns the row of a call that logs a constant message at the level info or above, empty for any other call.
func logged(s *source, call *ast.CallExpr, consts map[string]string) string {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !logger(f.X) {
		return ""
	}
	name, args := f.Sel.Name, call.Args
	level, withContext := strings.CutSuffix(name, "Context")
	switch {
	case name == "Log" && len(args) > 2:
		level, args = "by outcome", args[2:]
	case !slices.Contains([]string{"Info", "Warn", "Error"}, level) || len(args) == 0:
		return ""
	case withContext:
		args = args[1:]
	}
	message, ok := literal(s, args[0], consts)
	if !ok {
		return ""
	}
	var keys []string
	for i := 1; i < len(args); i++ {
		if c, ok := args[i].(*ast.CallExpr); ok && len(c.Args) == 2 { // slog.String and the like
			if key, ok := literal(s, c.Args[0], consts); ok {
				keys = append(keys, "`"+key+"`")
				continue
			}
		}
		if key, ok := literal(s, args[i], consts); ok {
			keys = append(keys, "`"+key+"`")
		}
		i++
	}
	return fmt.Sprintf("| %s | %s | %s |", message, strings.ToLower(level), strings.Join(keys, ", "))
}

// logger reports whether an expression is a logger by its name.
func logger(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.EqualFold(e.Name, "log")
	case *ast.SelectorExpr:
		return strings.EqualFold(e.Sel.Name, "log")
	}
	return false
}
