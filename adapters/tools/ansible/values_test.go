package ansible_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
)

// texts returns texts that one reader or another takes for something else: YAML, Jinja, JSON, Python or a shell. The
// template in the last ones would create the file named by mark.
func texts(mark string) []string {
	evil := "{{ lookup('pipe', 'touch " + mark + "') }}"
	return []string{
		"", " ", "0", "1", "-1", "+1", "-0", "0123", "0o17", "0x1F", "0b11", "1_000", "1.0", "1.", ".5", "1e3", "1E400",
		"190:20:30", "12:30", "NaN", ".nan", ".inf", "-.INF", "Infinity",
		"true", "True", "false", "yes", "No", "on", "OFF", "y", "n",
		"null", "Null", "~", "None", "undefined", "omit",
		"2024-01-02", "2024-01-02T03:04:05Z", "2024-01-02 03:04:05.5 +01:00",
		"=", "<<", "-", "- item", "?", "? key", ":", ": value", "key: value", "# comment", "text # comment", "|", ">", ">-",
		"!", "!unsafe 0123", "!vault x", "!!python/object/apply:os.system ['id']", "*alias", "&anchor", "%YAML 1.2",
		"@/etc/passwd", "`id`", "---", "...", ",", "{", "}", "[", "]", "{}", "[]", "['a']", "{'a': 1}", "[1, 2]",
		`{"a": 1}`, `{"__ansible_unsafe": "0123"}`, "$ANSIBLE_VAULT;1.1;AES256\n6162\n",
		"'", `"`, `'"'`, `\`, `\n`, `\\"`, "''", "$HOME", "$(id)", "; id", "a\tb", "\t", "a\nb", "\n", "a\r\nb", "end " +
			"", "  begin",
		"é", "é", "漢字", "\U0001F600", "\u2028", "\u0085", "\ufeff", "\u202e", "\u200b", "\x7f", "\x1b[31m", "\x00",
		"{{", "}}", "{%", "{#", "{{ }}", "{{ 1 + 1 }}", "{{ v0 }}", "{{ undefined_name }}", "{% raw %}", "{# none #}",
		strings.Repeat("0123 é ", 20_000), evil, "=" + evil, "{% if " + evil[2:len(evil)-2] + " %}{% endif %}",
	}
}

// values returns variables that hold every text: alone, in lists, in objects and as names of members.
func values(mark string) map[string]any {
	out := map[string]any{
		"int": 7, "big": json.Number("123456789012345678901234567890"), "negative": -1, "float": 1.5,
		"power": json.Number("1e5"), "digits": json.Number("0.1000"), "yes": true, "no": false, "none": nil,
		"empty_list": []any{}, "empty_object": map[string]any{},
	}
	var list, names []any
	object := map[string]any{}
	for i, text := range texts(mark) {
		out[fmt.Sprintf("v%d", i)] = text
		list = append(list, text)
		object[fmt.Sprintf("m%d", i)] = []any{map[string]any{"in": text}, 1, true, nil}
		names = append(names, map[string]any{text: text})
	}
	deep := any("{{ 1 + 1 }}")
	for range 190 {
		deep = []any{deep}
	}
	out["list"], out["object"], out["names"], out["deep"] = list, object, names, deep
	return out
}

// TestEveryValueArrivesLiterally asserts that each value is the same for a play as at the launch.
func TestEveryValueArrivesLiterally(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "ran")
	if n := len(texts(mark)); n < 60 {
		t.Fatalf("%d texts", n)
	}
	vars := values(mark)
	var members []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		members = append(members, fmt.Sprintf("'%s': %[1]s", name))
	}
	got := filepath.Join(t.TempDir(), "got.json")
	p := newProject(t, map[string]string{"site.yml": fmt.Sprintf(`- hosts: h1
  gather_facts: false
  tasks:
    - copy:
        dest: %s
        content: "{{ {%s} | to_json }}"
`, got, strings.Join(members, ", "))})
	p.spec.ExtraVars = vars
	if res := p.run(); res.ExitCode != 0 {
		t.Fatalf("%+v\n%.4000s", res, p.out.String())
	}
	raw, err := os.ReadFile(got)
	if err != nil {
		t.Fatal(err)
	}
	sent, err := json.Marshal(vars)
	if err != nil {
		t.Fatal(err)
	}
	want, have := decoded(t, sent), decoded(t, raw)
	if len(have) != len(want) {
		t.Errorf("%d of %d values arrived", len(have), len(want))
	}
	for name, v := range want {
		if !reflect.DeepEqual(v, have[name]) { // go-cmp takes for ever on values that are nested so deep
			t.Errorf("%s: sent %.300q, arrived %.300q", name, v, have[name])
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a template in a value ran")
	}
}

// decoded returns a JSON object in which equal numbers are equal, however they are written.
func decoded(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var all map[string]any
	if err := dec.Decode(&all); err != nil {
		t.Fatal(err)
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case json.Number:
			r, ok := new(big.Rat).SetString(v.String())
			if !ok {
				t.Fatalf("%s is no number", v)
			}
			return "number " + r.String()
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = walk(v[k])
			}
		}
		return v
	}
	walk(all)
	return all
}

// TestMarksInValuesAreRefused checks that no member of a value is read as a mark, whoever brings it.
func TestMarksInValuesAreRefused(t *testing.T) {
	t.Parallel()
	deep := any("x")
	for range 200 {
		deep = []any{deep}
	}
	for field, vars := range map[string]map[string]any{
		"extra_vars":   {"__ansible_unsafe": "x"},
		"extra_vars.a": {"a": map[string]any{"__ansible_unsafe": "x"}},
		"extra_vars.b": {"b": []any{1, map[string]any{"c": map[string]any{"__ansible_vault": "x"}}}},
		"extra_vars.d": {"d": map[string]any{"__ansible_type": "TaggedStr", "value": "{{ 1 }}"}},
		"extra_vars.e": {"e": deep},
		"extra_vars.f": {"f": json.Number(strings.Repeat("1", 5000))},
	} {
		for _, templated := range [][]string{nil, {"a", "b", "d", "e", "f"}} {
			p := newProject(t, map[string]string{"site.yml": plain})
			p.spec.ExtraVars, p.play.Templated = vars, templated
			_, err := p.tool.Play(t.Context(), p.spec, p.play, &p.out, p.sink)
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Location != field {
				t.Errorf("%s: %v", field, err)
			}
			if _, _, err := p.tool.Hosts(t.Context(), p.spec, execution.Play{WorkDir: p.dir, Playbook: "site.yml"}); err == nil {
				t.Errorf("%s: the hosts are listed", field)
			}
		}
	}
}
