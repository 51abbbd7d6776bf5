package arch

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTypeNames refuses type names without meaning.
func TestTypeNames(t *testing.T) {
	t.Parallel()
	r := tree(t)
	vague := regexp.MustCompile(`(Service|Manager|Helpers?|Utils?)$`)
	eachType(r, func(s *source, spec *ast.TypeSpec) {
		name := spec.Name.Name
		if s.gen {
			return
		}
		if vague.MatchString(strings.ToUpper(name[:1]) + name[1:]) {
			t.Errorf("rule %q: %s:%d %s\n\twhy: the name says what role a thing plays, and these words fit anything",
				"vague name", s.path, r.line(spec), name)
		}
		if _, ok := spec.Type.(*ast.InterfaceType); ok && regexp.MustCompile(`^I[A-Z][a-z]`).MatchString(name) {
			t.Errorf("rule %q: %s:%d %s\n\twhy: an interface is named for its role; a prefix is noise", "interface prefix",
				s.path, r.line(spec), name)
		}
	})
	for _, s := range r.files {
		if slices.Contains([]string{"util", "utils", "helper", "helpers", "common", "misc", "shared"}, s.file.Name.Name) {
			t.Errorf("rule %q: %s is package %s\n\twhy: a package is named for what it offers", "vague package", s.path,
				s.file.Name.Name)
		}
	}
}

// TestPortsAreDocumented requires a comment on each exported name of the contracts, and the package comment in doc.go
// if a package has more than one file.
func TestPortsAreDocumented(t *testing.T) {
	t.Parallel()
	r := tree(t)
	files, where := make(map[string]int), make(map[string]string)
	for _, s := range r.in("ports") {
		if s.test() || s.gen {
			continue
		}
		files[s.dir()]++
		if s.file.Doc != nil {
			where[s.dir()] = path.Base(s.path)
		}
		for _, decl := range s.file.Decls {
			for _, name := range undocumented(decl) {
				t.Errorf("rule %q: %s:%d %s has no comment\n\twhy: a contract is its promises, and a signature makes none",
					"documented contract", s.path, r.line(decl), name)
			}
		}
	}
	for dir, n := range files {
		if where[dir] == "" || n > 1 && where[dir] != "doc.go" {
			t.Errorf("rule %q: %s has no package comment in doc.go\n\twhy: a reader begins with what the context promises as "+
				"a whole", "package comment", dir)
		}
	}
}

// undocumented lists the exported names of a declaration without a comment; a comment on a group covers its members.
func undocumented(decl ast.Decl) []string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		// The name of a method that the standard library or the bus requires documents it.
		known := []string{"Error", "String", "GoString", "Format", "LogValue", "MarshalText", "MarshalJSON", "EventName",
			"EventVersion"}
		if d.Recv != nil && slices.Contains(known, d.Name.Name) {
			return nil
		}
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv)) {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		if d.Doc != nil || d.Tok == token.IMPORT {
			return nil
		}
		var out []string
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Doc == nil && s.Name.IsExported() {
					out = append(out, s.Name.Name)
				}
			case *ast.ValueSpec:
				if s.Doc == nil && s.Comment == nil && s.Names[0].IsExported() {
					out = append(out, s.Names[0].Name)
				}
			}
		}
		return out
	}
	return nil
}

func exportedReceiver(recv *ast.FieldList) bool {
	exported := false
	ast.Inspect(recv, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.IsExported() {
			exported = true
		}
		return true
	})
	return exported
}

// TestBodiesAreNamed refuses anonymous bodies of HTTP operations.
func TestBodiesAreNamed(t *testing.T) {
	t.Parallel()
	r := tree(t)
	for _, s := range r.in("adapters/httpapi") {
		ast.Inspect(s.file, func(n ast.Node) bool {
			f, ok := n.(*ast.Field)
			if !ok || len(f.Names) != 1 || f.Names[0].Name != "Body" {
				return true
			}
			ast.Inspect(f.Type, func(n ast.Node) bool {
				if st, ok := n.(*ast.StructType); ok && !s.test() {
					t.Errorf("rule %q: %s:%d has an anonymous body\n\twhy: schemas are named after types, and two bodies without a "+
						"name collide at start",
						"named bodies", s.path, r.line(st))
				}
				return true
			})
			return true
		})
	}
}

// TestFaultCodes checks that each stable code has the right form and one declaration.
func TestFaultCodes(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	seen := make(map[string]string)
	for _, c := range faultCodes(tree(t)) {
		if !form.MatchString(c.code) {
			t.Errorf("rule %q: %s declares %q\n\twhy: clients switch on codes; they are snake_case words", "fault code", c.path,
				c.code)
		}
		if first, ok := seen[c.code]; ok {
			t.Errorf("rule %q: %q is declared in %s and in %s\n\twhy: one code means one thing in every context", "fault code",
				c.code, first, c.path)
		}
		seen[c.code] = c.path
	}
}

type faultCode struct {
	code, kind, path string
}

// faultCodes finds every declaration of the form X = fault.Code{Name: "...", Kind: fault.Y}.
func faultCodes(r *repository) []faultCode {
	var out []faultCode
	for _, s := range r.files {
		if s.support() {
			continue
		}
		for _, decl := range s.file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if !ok || len(v.Values) != 1 {
					continue
				}
				if code, kind, ok := codeLiteral(v.Values[0]); ok {
					out = append(out, faultCode{code: code, kind: kind, path: s.path})
				}
			}
		}
	}
	return out
}

func codeLiteral(e ast.Expr) (code, kind string, ok bool) {
	lit, isLit := e.(*ast.CompositeLit)
	if !isLit {
		return "", "", false
	}
	if sel, isSel := lit.Type.(*ast.SelectorExpr); !isSel || sel.Sel.Name != "Code" {
		return "", "", false
	}
	for _, el := range lit.Elts {
		kv, isKV := el.(*ast.KeyValueExpr)
		if !isKV {
			continue
		}
		switch v := kv.Value.(type) {
		case *ast.BasicLit:
			code = strings.Trim(v.Value, `"`)
		case *ast.SelectorExpr:
			kind = v.Sel.Name
		}
	}
	return code, kind, code != ""
}
