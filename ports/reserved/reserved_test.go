package reserved_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/reserved/reservedtest"
)

func TestKnownNames(t *testing.T) {
	t.Parallel()
	if n := len(reservedtest.Ansible()); n < 100 {
		t.Errorf("%d variables of Ansible", n)
	}
	for _, name := range slices.Concat(reservedtest.Ansible(), reservedtest.Magic(), reservedtest.Environment(),
		[]string{"ansible_", "ansible_anything", "Ansible_Connection", "ANSIBLE_CONNECTION", "ansible-connection",
			"__ansible_unsafe", "__ansible_type", "_ansible_no_log", "{{ x }}", "a{%b", "a{#b"}) {
		if !reserved.Variable(name) {
			t.Errorf("%s is not reserved", name)
		}
		if !reserved.Member(name) && (!slices.Contains(reservedtest.Magic(), name) || strings.HasPrefix(name, "ansible_")) {
			t.Errorf("%s is not reserved as a member", name)
		}
	}
	for _, name := range slices.Concat(reservedtest.Ordinary(), []string{"", "a.b", "{", "}}", "é", "\x00"}) {
		if reserved.Variable(name) || reserved.Member(name) {
			t.Errorf("%q is reserved", name)
		}
	}
	for _, name := range []string{"groups", "vars", "hostvars", "role_name"} {
		if reserved.Member(name) {
			t.Errorf("%s is reserved as a member", name)
		}
	}
}

// TestOrder holds the list to the order in which readers look names up.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, g := range reserved.Groups() {
		if !slices.IsSorted(g.Names) || len(slices.Compact(slices.Clone(g.Names))) != len(g.Names) {
			t.Errorf("%s is not in order", g.Title)
		}
		for _, name := range g.Names {
			if strings.Contains(strings.TrimSuffix(name, "*"), "*") || strings.TrimSuffix(name, "*") == "" {
				t.Errorf("%s has the name %s", g.Title, name)
			}
		}
	}
}

func TestStrip(t *testing.T) {
	t.Parallel()
	in := `{"a": [{"ansible_host": "x", "name": 1}, [{"LD_PRELOAD": 2, "path": 3, "groups": []}]], "PATH": 4, "b\nc": {"PATH": {}}}`
	var v any
	if err := json.Unmarshal([]byte(in), &v); err != nil {
		t.Fatal(err)
	}
	kept, removed := reserved.Strip("v", v, "PATH")
	out, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(`{"PATH":4,"a":[{"name":1},[{"groups":[],"path":3}]],"b\nc":{"PATH":{}}}`, string(out)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"v.a[0].ansible_host", "v.a[1][0].LD_PRELOAD"}, removed); d != "" {
		t.Error(d)
	}
	_, removed = reserved.Strip("v", v)
	all := []string{"v.PATH", "v.a[0].ansible_host", "v.a[1][0].LD_PRELOAD", `v."b\nc".PATH`}
	if d := cmp.Diff(all, removed); d != "" {
		t.Error(d)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	if got := reserved.Paths(strings.Fields(strings.Repeat("a ", 23))); !strings.HasSuffix(got, "a, a and 3 more") {
		t.Error(got)
	}
	deep := any(map[string]any{"PATH": 1})
	for range 5000 {
		deep = []any{deep}
	}
	if _, removed := reserved.Strip("v", deep); len(removed) != 1 || len(removed[0]) > 400 {
		t.Errorf("%.100s", removed)
	}
	if got := reserved.Shown(strings.Repeat("é", 100)); len(got) > 100 || !strings.HasSuffix(got, `..."`) {
		t.Error(got)
	}
}

// TestStripIsComplete: nothing reserved stays at any depth, nothing else goes, and the argument does not change.
func TestStripIsComplete(t *testing.T) {
	t.Parallel()
	names := rapid.SampledFrom(slices.Concat(reservedtest.Ansible(), reservedtest.Environment(), reservedtest.Ordinary()))
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case depth == 0 || kind == 0:
				return rapid.String().Draw(t, "text")
			case kind == 1:
				return rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "list")
			default:
				return rapid.MapOfN(names, value(depth-1), 0, 4).Draw(t, "object")
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		v := value(3).Draw(t, "value")
		before, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		kept, removed := reserved.Strip("v", v)
		if again, more := reserved.Strip("v", kept); len(more) > 0 || !reflect.DeepEqual(kept, again) {
			t.Fatalf("left %v", more)
		}
		if len(removed) == 0 && !reflect.DeepEqual(normal(t, v), normal(t, kept)) {
			t.Fatalf("%v became %v", v, kept)
		}
		if after, err := json.Marshal(v); err != nil || string(after) != string(before) {
			t.Fatalf("the argument became %s: %v", after, err)
		}
	})
}

func normal(t *rapid.T, v any) (out any) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
