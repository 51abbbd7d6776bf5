package query

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/estate"
)

// print returns a query in its full form: with all parentheses, and every name in quotes.
func print(x expression) string {
	quote := func(s string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"` }
	join := func(parts []expression, word string) string {
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = print(p)
		}
		return "(" + strings.Join(texts, " "+word+" ") + ")"
	}
	switch x := x.(type) {
	case conjunction:
		if len(x) == 0 {
			return ""
		}
		return join(x, "and")
	case disjunction:
		return join(x, "or")
	case negation:
		return "not " + print(x.of)
	case comparison:
		key := make([]string, len(x.key))
		for i, k := range x.key {
			key[i] = quote(k)
		}
		return strings.Join(key, ".") + x.sign + quote(x.value)
	default:
		panic(x)
	}
}

func FuzzParse(f *testing.F) {
	for _, q := range []string{"", "os.family=Debian and mounts./.free_gb<5", `not ("a.b".c~"x \"y" or host!=z) and d>=1.2.10`,
		"a=1 or b=2 and not c=3", "((((a=1", `a="\\"`} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		x, err := parse(q)
		if err != nil {
			return
		}
		x.fits("web1", debian())
		long := print(x)
		if utf8.RuneCountInString(long) > maxLength || strings.Count(long, "(")+strings.Count(long, "not") > maxDepth {
			return
		}
		again, err := parse(long)
		if err != nil || print(again) != long {
			t.Fatalf("%q is printed as %q, which is %v, %v", q, long, again, err)
		}
	})
}

// drawn is a query and what it means: holds decides slowly, from the values of the facts.
type drawn struct {
	text  string
	holds func(facts map[string]any) bool
}

func draw(t *rapid.T, depth int) drawn {
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if depth == 0 || kind == 0 {
		return drawComparison(t)
	}
	if kind == 1 {
		of := draw(t, depth-1)
		return drawn{"not (" + of.text + ")", func(f map[string]any) bool { return !of.holds(f) }}
	}
	a, b := draw(t, depth-1), draw(t, depth-1)
	if kind == 2 {
		return drawn{"(" + a.text + ") and (" + b.text + ")", func(f map[string]any) bool { return a.holds(f) && b.holds(f) }}
	}
	return drawn{"(" + a.text + ") or (" + b.text + ")", func(f map[string]any) bool { return a.holds(f) || b.holds(f) }}
}

func drawComparison(t *rapid.T) drawn {
	key := rapid.SampledFrom([]string{"a", "b", "c.d"}).Draw(t, "key")
	sign := rapid.SampledFrom([]string{"=", "!=", "<", "<=", ">", ">=", "~"}).Draw(t, "sign")
	value := rapid.SampledFrom([]string{"1", "2", "10", "1.5", "1.10", "1.2.10", "1.2.9", "x", "X", "xy"}).Draw(t, "value")
	return drawn{key + sign + value, func(f map[string]any) bool {
		fact, ok := f[key]
		if !ok {
			return false
		}
		text := fmt.Sprint(fact)
		if sign == "~" {
			return strings.Contains(strings.ToLower(text), strings.ToLower(value))
		}
		order, comparable := slowly(fact, value)
		if !comparable {
			return sign == "!="
		}
		return map[string]bool{"=": order == 0, "!=": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0,
			">=": order >= 0}[sign]
	}}
}

// slowly compares numbers as fractions, versions as lists of numbers, and other values as texts.
func slowly(fact any, value string) (int, bool) {
	if n, ok := fact.(json.Number); ok {
		a, _ := new(big.Rat).SetString(n.String())
		b, ok := new(big.Rat).SetString(value)
		if !ok {
			return 0, false
		}
		return a.Cmp(b), true
	}
	text := fmt.Sprint(fact)
	if strings.ContainsAny(text+value, "xXy") {
		return strings.Compare(text, value), true
	}
	a, b := strings.Split(text, "."), strings.Split(value, ".")
	for i := range min(len(a), len(b)) {
		x, _ := new(big.Int).SetString(a[i], 10)
		y, _ := new(big.Int).SetString(b[i], 10)
		if c := x.Cmp(y); c != 0 {
			return c, true
		}
	}
	return len(a) - len(b), true
}

func TestQueryIsItsMeaning(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := map[string]any{}
		facts := estate.Facts{}
		for _, key := range []string{"a", "b", "c.d"} {
			var v any
			switch rapid.IntRange(0, 2).Draw(t, "type") {
			case 0:
				continue
			case 1:
				v = json.Number(rapid.SampledFrom([]string{"1", "2", "10", "1.5", "1.10", "-3"}).Draw(t, "number"))
			default:
				v = rapid.SampledFrom([]string{"1", "1.10", "1.2.9", "1.2.10", "x", "X", "xy"}).Draw(t, "text")
			}
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if at := rapid.SampledFrom([]string{"", "ansible_"}).Draw(t, "prefix") + key; true {
				values[key], facts[at] = v, raw
			}
		}
		q := draw(t, 4)
		x, err := Parse(q.text)
		if err != nil {
			t.Fatalf("%s: %v", q.text, err)
		}
		for _, f := range []estate.Facts{facts, selected(maps.Clone(facts), x)} {
			if got, want := x.Fits("h", f), q.holds(values); got != want {
				t.Fatalf("%s of %v with %d facts: %v, not %v", q.text, values, len(f), got, want)
			}
		}
	})
}
