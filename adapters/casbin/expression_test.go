package casbin

import (
	"errors"
	"strings"
	"testing"

	"github.com/casbin/govaluate"
)

// values are the names of an expression.
type values map[string]any

func (v values) Get(name string) (any, error) {
	out, ok := v[name]
	if !ok {
		return nil, errors.New("no " + name)
	}
	return out, nil
}

func evaluate(t *testing.T, expression string) (any, error) {
	t.Helper()
	e, err := govaluate.NewEvaluableExpressionWithFunctions(expression, map[string]govaluate.ExpressionFunction{
		"count": func(args ...any) (any, error) { return []string{"none", "one", "two", "three"}[len(args)], nil },
		"same":  func(args ...any) (any, error) { return args[0], nil },
		"fail":  func(...any) (any, error) { return nil, errors.New("failed") },
	})
	if err != nil {
		return nil, err
	}
	return e.Eval(values{"yes": true, "no": false, "a": "a", "number": 1})
}

// TestExpressions evaluates the language of the model: what binds tighter, what is not evaluated, texts and calls.
func TestExpressions(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]any{
		"yes": true, "a": "a", `"x\"y"`: `x"y`, "!yes": false, "!!yes": true, "yes && no": false, "yes || no": true,
		"no && yes || yes": true, "yes || yes && no": true, "(yes || yes) && no": false, "!no && yes": true,
		"!(yes && no)": true, `a == "a"`: true, `a == "b"`: false, `a != "b"`: true, "yes == yes": true, "yes != no": true,
		`a == "a" && no || a != "a"`: false, "no && fail()": false, "yes || fail()": true, "yes || absent": true,
		"count()": "none", "count(a)": "one", `count(a, "b", yes)`: "three", `same(a) == "a" && same(no || yes)`: true,
		"\tyes\n||\nno ": true,
	} {
		if got, err := evaluate(t, in); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", in, got, err, want)
		}
	}
}

// TestExpressionsRefused has what cannot be read, and what cannot be evaluated.
func TestExpressionsRefused(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "unexpected", "yes yes": "unexpected", "yes &": "unexpected", "yes & no": "unexpected",
		"yes | no": "unexpected",
		"a = a":    "unexpected", "(yes": "closing", "count(": "unexpected", "count(a": "closing", "count(,)": "unexpected",
		"absent(a)": "no function", "1": "unexpected", "a.b": "unexpected", `"a`: "not terminated", "yes &&": "unexpected",
		"a < a": "unexpected", strings.Repeat("(", 200) + "yes" + strings.Repeat(")", 200): "levels",
		"absent": "no absent", "a && yes": "neither true nor false", "!a": "neither true nor false",
		"yes && a": "neither true nor false", "number == number": "only two", `yes == "a"`: "only two",
		`a == yes`: "only two", "fail()": "fail: failed", "fail() == a": "failed", "a == fail()": "failed",
		"same(fail())": "failed",
	} {
		if got, err := evaluate(t, in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", in, got, err, want)
		}
	}
}
