package govaluate

import (
	"errors"
	"fmt"
)

// ExpressionFunction is a function that expressions call.
type ExpressionFunction = func(args ...any) (any, error)

// Parameters are the names of an expression.
type Parameters interface {
	Get(name string) (any, error)
}

// EvaluableExpression is an expression that was read. Several goroutines may evaluate it at once.
type EvaluableExpression struct{ root node }

// NewEvaluableExpressionWithFunctions reads an expression. Its error tells the place.
func NewEvaluableExpressionWithFunctions(
	expression string, functions map[string]ExpressionFunction,
) (*EvaluableExpression, error) {
	root, err := parse(expression, functions)
	if err != nil {
		return nil, err
	}
	return &EvaluableExpression{root: root}, nil
}

// Eval evaluates the expression. && and || evaluate their right side only if the left one does not decide.
func (e *EvaluableExpression) Eval(parameters Parameters) (any, error) { return e.root(parameters) }

// node evaluates a part of an expression.
type node func(p Parameters) (any, error)

func constant(v any) node { return func(Parameters) (any, error) { return v, nil } }

func parameter(name string) node { return func(p Parameters) (any, error) { return p.Get(name) } }

func call(name string, f ExpressionFunction, args []node) node {
	return func(p Parameters) (any, error) {
		values := make([]any, len(args))
		for i, a := range args {
			var err error
			if values[i], err = a(p); err != nil {
				return nil, err
			}
		}
		v, err := f(values...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return v, nil
	}
}

func truth(n node, p Parameters) (bool, error) {
	v, err := n(p)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("matcher: %v is neither true nor false", v)
	}
	return b, nil
}

// logical is a || b if decides is true, and a && b if it is false.
func logical(a, b node, decides bool) node {
	return func(p Parameters) (any, error) {
		v, err := truth(a, p)
		if err != nil || v == decides {
			return v, err
		}
		return truth(b, p)
	}
}

func not(n node) node {
	return func(p Parameters) (any, error) {
		v, err := truth(n, p)
		return !v, err
	}
}

// equal compares two texts or two truth values.
func equal(a, b node) node {
	return func(p Parameters) (any, error) {
		x, err := a(p)
		if err != nil {
			return nil, err
		}
		y, err := b(p)
		if err != nil {
			return nil, err
		}
		switch x := x.(type) {
		case string:
			if y, ok := y.(string); ok {
				return x == y, nil
			}
		case bool:
			if y, ok := y.(bool); ok {
				return x == y, nil
			}
		}
		return nil, errors.New("matcher: only two texts or two truth values are compared")
	}
}
