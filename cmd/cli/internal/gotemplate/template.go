package gotemplate

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/template/parse"
)

// maxDepth bounds templates that execute each other.
const maxDepth = 100

// Template is a parsed template. It is not changed by executions.
type Template struct {
	trees map[string]*parse.Tree
	root  *parse.Tree
}

// Parse parses a template. Its functions are those of text/template without call and js, and
//
//	json VALUE          the value as JSON on one line
//	join SEPARATOR LIST the items of a list as one text
func Parse(text string) (*Template, error) {
	names := map[string]any{}
	for name := range functions() {
		names[name] = true
	}
	trees, err := parse.Parse("output", text, "", "", names)
	if err != nil {
		return nil, err
	}
	return &Template{trees: trees, root: trees["output"]}, nil
}

// Execute writes the template with a document as its dot.
func (t *Template) Execute(w io.Writer, document any) error {
	if t.root == nil || t.root.Root == nil { // definitions alone
		return nil
	}
	s := &state{template: t, w: w, functions: functions(), vars: []variable{{"$", document}}}
	return s.list(document, t.root.Root)
}

// variable is a name with $ and its value.
type variable struct {
	name  string
	value any
}

type state struct {
	template  *Template
	w         io.Writer
	functions map[string]function
	vars      []variable // the innermost last
	depth     int
}

// The control flow of a loop.
var (
	errBreak    = errors.New("break outside of range")
	errContinue = errors.New("continue outside of range")
)

func (s *state) list(dot any, l *parse.ListNode) error {
	if l == nil {
		return nil
	}
	for _, n := range l.Nodes {
		if err := s.node(dot, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *state) node(dot any, n parse.Node) error {
	switch n := n.(type) {
	case *parse.TextNode:
		_, err := s.w.Write(n.Text)
		return err
	case *parse.ActionNode:
		v, err := s.pipe(dot, n.Pipe)
		if err == nil && len(n.Pipe.Decl) == 0 {
			_, err = io.WriteString(s.w, text(v))
		}
		return err
	case *parse.IfNode:
		return s.branch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		return s.branch(dot, &n.BranchNode, true)
	case *parse.RangeNode:
		return s.loop(dot, &n.BranchNode)
	case *parse.TemplateNode:
		return s.named(dot, n)
	case *parse.BreakNode:
		return errBreak
	case *parse.ContinueNode:
		return errContinue
	}
	return nil // a comment
}

// branch executes the list of an if or a with; with sets the dot.
func (s *state) branch(dot any, n *parse.BranchNode, with bool) error {
	defer s.leave(len(s.vars))
	v, err := s.pipe(dot, n.Pipe)
	switch {
	case err != nil:
		return err
	case !truth(v):
		return s.list(dot, n.ElseList)
	case with:
		return s.list(v, n.List)
	}
	return s.list(dot, n.List)
}

// leave removes the variables of a block.
func (s *state) leave(mark int) { s.vars = s.vars[:mark] }

// loop executes a range: over a list, over the members of an object by their names, or over nothing.
func (s *state) loop(dot any, n *parse.BranchNode) error {
	defer s.leave(len(s.vars))
	v, err := s.pipe(dot, n.Pipe)
	if err != nil {
		return err
	}
	var keys, items []any
	switch v := v.(type) {
	case []any:
		for i := range v {
			keys = append(keys, int64(i))
		}
		items = v
	case map[string]any:
		for _, name := range members(v) {
			keys, items = append(keys, name), append(items, v[name])
		}
	case nil:
	default:
		return fmt.Errorf("range can't iterate over %s", text(v))
	}
	if len(items) == 0 {
		return s.list(dot, n.ElseList)
	}
	mark := len(s.vars)
	for i, item := range items {
		s.declare(n.Pipe, keys[i], item)
		err := s.list(item, n.List)
		s.leave(mark)
		if errors.Is(err, errBreak) {
			return nil
		}
		if err != nil && !errors.Is(err, errContinue) {
			return err
		}
	}
	return nil
}

// declare sets the variables of a range: one is the item, the first of two is the key.
func (s *state) declare(p *parse.PipeNode, key, item any) {
	values := []any{item}
	if len(p.Decl) == 2 {
		values = []any{key, item}
	}
	for i, d := range p.Decl {
		if p.IsAssign {
			_ = s.assign(d.Ident[0], values[i])
		} else {
			s.vars = append(s.vars, variable{d.Ident[0], values[i]})
		}
	}
}

func (s *state) assign(name string, v any) error {
	for i := range slices.Backward(s.vars) {
		if s.vars[i].name == name {
			s.vars[i].value = v
			return nil
		}
	}
	return fmt.Errorf("undefined variable: %s", name)
}

// named executes another template, with variables of its own.
func (s *state) named(dot any, n *parse.TemplateNode) error {
	t := s.template.trees[n.Name]
	if t == nil {
		return fmt.Errorf("template %q not defined", n.Name)
	}
	if s.depth >= maxDepth {
		return fmt.Errorf("templates are nested more than %d deep", maxDepth)
	}
	var v any
	if n.Pipe != nil {
		var err error
		if v, err = s.pipe(dot, n.Pipe); err != nil {
			return err
		}
	}
	inner := *s
	inner.depth++
	inner.vars = []variable{{"$", v}}
	return inner.list(v, t.Root)
}
