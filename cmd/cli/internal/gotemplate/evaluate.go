package gotemplate

import (
	"errors"
	"fmt"
	"slices"
	"text/template/parse"
)

// pipe evaluates a pipeline: the value of each command is the last argument of the next one.
func (s *state) pipe(dot any, p *parse.PipeNode) (v any, err error) {
	for i, c := range p.Cmds {
		if v, err = s.command(dot, c, i > 0, v); err != nil {
			return nil, err
		}
	}
	switch {
	case len(p.Decl) == 1 && p.IsAssign:
		err = s.assign(p.Decl[0].Ident[0], v)
	case len(p.Decl) == 1:
		s.vars = append(s.vars, variable{p.Decl[0].Ident[0], v})
	}
	return v, err
}

// command evaluates a function with its arguments, or one value.
func (s *state) command(dot any, c *parse.CommandNode, piped bool, last any) (any, error) {
	name, isFunction := c.Args[0].(*parse.IdentifierNode)
	if !isFunction {
		if len(c.Args) > 1 || piped {
			return nil, fmt.Errorf("%s is not a function", c.Args[0])
		}
		return s.value(dot, c.Args[0])
	}
	args := c.Args[1:]
	if name.Ident == "and" || name.Ident == "or" {
		return s.logical(dot, name.Ident == "or", args, piped, last)
	}
	values := make([]any, 0, len(args)+1)
	for _, a := range args {
		v, err := s.value(dot, a)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	if piped {
		values = append(values, last)
	}
	return s.call(name.Ident, values)
}

func (s *state) call(name string, values []any) (any, error) {
	f := s.functions[name]
	if f.do == nil { // and, or
		return nil, fmt.Errorf("%s: no arguments", name)
	}
	if len(values) < f.least || f.most >= 0 && len(values) > f.most {
		return nil, fmt.Errorf("wrong number of arguments for %s: %d", name, len(values))
	}
	v, err := f.do(values)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// logical evaluates its arguments until one decides.
func (s *state) logical(dot any, decides bool, args []parse.Node, piped bool, last any) (v any, err error) {
	if len(args) == 0 && !piped {
		return nil, errors.New("and, or: no arguments")
	}
	for _, a := range args {
		if v, err = s.value(dot, a); err != nil || truth(v) == decides {
			return v, err
		}
	}
	if piped {
		return last, nil
	}
	return v, nil
}

func (s *state) value(dot any, n parse.Node) (any, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.FieldNode:
		return fields(dot, n.Ident)
	case *parse.ChainNode:
		v, err := s.value(dot, n.Node)
		if err != nil {
			return nil, err
		}
		return fields(v, n.Field)
	case *parse.VariableNode:
		for _, v := range slices.Backward(s.vars) {
			if v.name == n.Ident[0] {
				return fields(v.value, n.Ident[1:])
			}
		}
	case *parse.IdentifierNode:
		return s.call(n.Ident, nil)
	case *parse.PipeNode:
		return s.pipe(dot, n)
	case *parse.StringNode:
		return n.Text, nil
	case *parse.BoolNode:
		return n.True, nil
	case *parse.NumberNode:
		if n.IsInt {
			return n.Int64, nil
		}
		return n.Float64, nil
	case *parse.NilNode:
		return nil, nil
	}
	return nil, fmt.Errorf("can't evaluate %s", n)
}

// fields returns a member of objects in each other. A member that is absent is nil, and so is each member of nil.
func fields(v any, names []string) (any, error) {
	for _, name := range names {
		switch o := v.(type) {
		case map[string]any:
			v = o[name]
		case nil:
			return nil, nil
		default:
			return nil, fmt.Errorf("can't evaluate field %s of %s", name, text(v))
		}
	}
	return v, nil
}
