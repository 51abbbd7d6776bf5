package untrusted_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/catalog/internal/inventory"
	"github.com/writ-automation/writ/modules/catalog/internal/untrusted"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/reserved/reservedtest"
)

func parsed(t testing.TB, text string, format catalog.Format) (*catalog.InventoryContent, []string) {
	t.Helper()
	out, f, dropped, err := untrusted.Inventory([]byte(text), format)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	c, err := inventory.Parse(out, f)
	if err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return c, dropped
}

func TestInventory(t *testing.T) {
	t.Parallel()
	out, f, dropped, err := untrusted.Inventory([]byte(`
zoo:
  hosts:
    b: {ansible_host: 10.0.0.1, ansible_connection: local, x: "{{ 1 }}", n: 1.5, ansible_port: 22}
    a: {tags: [t, {PATH: /tmp, groups: [g], deep: {Ansible_User: x, "{{ k }}": 1}}], none: null, yes: true, big: 99999999999999999999}
  children: {web: }
  vars: {ansible_user: deploy, ansible_become: true, secret: !vault "v", raw: !unsafe "{{ 2 }}", hostvars: {a: 1}}
web: {hosts: {"w[1:2]": {x: 0123}}}
alone: {hosts: {c: {}}}
`), catalog.YAML)
	if err != nil || f != catalog.JSON {
		t.Fatal(f, err)
	}
	want := `{"all":{"hosts":{` +
		`"b":{"ansible_host":{"__ansible_unsafe":"10.0.0.1"},"ansible_port":22,"n":1.5,"x":{"__ansible_unsafe":"{{ 1 }}"}},` +
		`"a":{"big":99999999999999999999,"none":null,"tags":[{"__ansible_unsafe":"t"},{"deep":{},"groups":[{"__ansible_unsafe":"g"}]}],` +
		`"true":true},"w1":{"x":83},"w2":{"x":83},"c":{}},"children":{},"vars":{}},` +
		`"ungrouped":{"hosts":{},"children":{},"vars":{}},` +
		`"zoo":{"hosts":{"b":{},"a":{}},"children":{"web":{}},"vars":{"ansible_user":{"__ansible_unsafe":"deploy"},` +
		`"raw":{"__ansible_unsafe":"{{ 2 }}"},"secret":{"__ansible_vault":"v"}}},` +
		`"alone":{"hosts":{"c":{}},"children":{},"vars":{}},` +
		`"web":{"hosts":{"w1":{},"w2":{}},"children":{},"vars":{}}}`
	if d := cmp.Diff(want, string(out)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{`"{{ k }}"`, "Ansible_User", "PATH", "ansible_become", "ansible_connection", "hostvars"},
		dropped); d != "" {
		t.Error(d)
	}
	// Content without variables stays as it is, but for names that are templates.
	for text, want := range map[string]string{"[g]\nb # x\na\n": "", "a{{x}}\n": "a template", "[g{%]\n": "a template",
		"[x{#:children]\ng\n[g]\nh\n": "a template", "-h x=1\n": "starts with -", "a b\n": "line 1"} {
		out, f, dropped, err := untrusted.Inventory([]byte(text), catalog.INI)
		switch {
		case want == "" && (err != nil || string(out) != text || f != catalog.INI || dropped != nil):
			t.Errorf("%q became %q, %v", text, out, err)
		case want != "" && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestNames drops every known name in every format, for hosts and groups, at the top and nested.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Concat(reservedtest.Ansible(), reservedtest.Magic(), reservedtest.Environment()) {
		key, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		texts := map[string]catalog.Format{
			fmt.Sprintf(`{"g": {"hosts": {"h": {"keep": 1, %s: "x {{ y }}"}}}}`, key):                   catalog.JSON,
			fmt.Sprintf("g: {hosts: {h: {keep: 1}}, vars: {%s: 'x {{ y }}'}}", key):                     catalog.YAML,
			fmt.Sprintf("[g]\nh keep=1 %s='x y'\n[g:vars]\n%s=x y\n", name, name):                       catalog.INI,
			fmt.Sprintf(`{"g": {"hosts": {"h": {"keep": 1}}, "vars": {"v": [[{%s: {"k": 1}}]]}}}`, key): catalog.JSON,
		}
		for text, format := range texts {
			nested := strings.Contains(text, `"v"`)
			if nested && slices.Contains(reservedtest.Magic(), name) && !strings.HasPrefix(name, "ansible_") {
				continue
			}
			c, dropped := parsed(t, text, format)
			if d := cmp.Diff([]string{name}, plainNames(dropped)); d != "" {
				t.Errorf("%s: %s", text, d)
			}
			if d := cmp.Diff(map[string]any{"keep": int64(1)}, c.Vars["h"]); d != "" {
				t.Errorf("%s: %s", text, d)
			}
			group := map[string]any{}
			if nested {
				group["v"] = []any{[]any{map[string]any{}}}
			}
			if got := c.Groups["g"].Vars; len(got) != len(group) || len(got) > 0 && !reflect.DeepEqual(got, group) {
				t.Errorf("%s: %v", text, got)
			}
		}
	}
}

func plainNames(list []string) []string {
	for i := range list {
		list[i] = strings.Trim(list[i], `"`)
	}
	return list
}

func TestConnections(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]map[bool][]string{
		"ansible_host": {
			true: {`"10.0.0.1"`, `"::1"`, `"fe80::1%eth0"`, `"a.example.org"`, `"a.example.org."`, `"node_1"`, `"a"`,
				`{"__ansible_unsafe": "a"}`},
			false: {`""`, `"-oProxyCommand=x"`, `"a b"`, `"a\nb"`, `"{{ x }}"`, `"$(id)"`, "\"`id`\"", `"a;b"`, `"::1%$(id)"`, `"a/b"`, `"@x"`,
				`"fe80::1%-x"`, `"a-"`, `1`, `null`, `["a"]`, `{"a": "b"}`, `{"__ansible_vault": "a"}`, `"é"`,
				`"` + strings.Repeat("a", 300) + `"`},
		},
		"ansible_port": {
			true: {`1`, `22`, `65535`, `"22"`, `{"__ansible_unsafe": "22"}`},
			false: {`0`, `-1`, `65536`, `22.5`, `"22 -o x"`, `"+22"`, `"{{ 22 }}"`, `true`, `null`, `""`,
				`99999999999999999999`},
		},
		"ansible_user": {
			true:  {`"root"`, `"_apt"`, `"a.b-c"`, `"DOMAIN\\user"`, `"user@REALM.EXAMPLE"`},
			false: {`""`, `"-x"`, `"a b"`, `"a\"b"`, `"$(id)"`, `"a;b"`, `"{{ x }}"`, `"%h"`, `"${HOME}"`, `1`, `null`},
		},
		"ansible_connection": {
			true: {`"network_cli"`, `"netconf"`, `"httpapi"`, `"ansible.netcommon.network_cli"`, `"ansible.netcommon.netconf"`,
				`"ansible.netcommon.httpapi"`},
			false: {`"local"`, `"ssh"`, `"smart"`, `"ansible.builtin.local"`, `"docker"`, `"network_cli "`, `"NETCONF"`,
				`"evil.netcommon.httpapi"`, `"{{ 'local' }}"`, `["netconf"]`, `null`},
		},
	} {
		for ok, list := range values {
			for _, v := range list {
				c, dropped := parsed(t, fmt.Sprintf(`{"g": {"hosts": {"h": {"keep": 1, %q: %s}}}}`, name, v), catalog.JSON)
				_, there := c.Vars["h"][name]
				if there != ok || (len(dropped) == 0) != ok {
					t.Errorf("%s: %s is there: %v, dropped %v", name, v, there, dropped)
				}
			}
		}
	}
	// A port in the name of a host is one of its own.
	if c, _ := parsed(t, "h:2222 x=1\n", catalog.INI); c.Vars["h"]["ansible_port"] != int64(2222) {
		t.Errorf("%v", c.Vars)
	}
}

// TestHostsStay: data has the hosts of its inventory, in their order, and its groups, and every text in it is marked.
func TestHostsStay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
		var b strings.Builder
		kind := ""
		for range rapid.IntRange(1, 9).Draw(t, "lines") {
			switch {
			case rapid.Bool().Draw(t, "section"):
				kind = pick("kind", "", "", ":vars", ":children")
				b.WriteString("[" + pick("group", "g", "h", "k", "all", "ungrouped") + kind + "]")
			case kind == ":vars":
				b.WriteString(pick("key", "x", "ansible_user", "PATH") + "=" + pick("value", "a", "1", "[1,'b']", "{'c':'d'}"))
			case kind == ":children":
				b.WriteString(pick("child", "g", "h", "k"))
			default:
				b.WriteString(pick("name", "a", "web[1:3]", "::1", "[::1]:23", "a:22", "b.c", "é") + " " +
					pick("var", "", "x=y", "x={{z}}", "ansible_host=10.0.0.1", "ansible_become=1"))
			}
			b.WriteString("\n")
		}
		text := b.String()
		was, err := inventory.Parse([]byte(text), catalog.INI)
		out, f, _, failed := untrusted.Inventory([]byte(text), catalog.INI)
		if err != nil || failed != nil {
			if err == nil || failed == nil {
				t.Fatalf("%q: %v, %v", text, err, failed)
			}
			return
		}
		now, err := inventory.Parse(out, f)
		if err != nil {
			t.Fatalf("%q became %s: %v", text, out, err)
		}
		if d := cmp.Diff(was.Hosts, now.Hosts); d != "" {
			t.Fatalf("%q became %s: %s", text, out, d)
		}
		if d := cmp.Diff(slices.Sorted(maps.Keys(was.Groups)), slices.Sorted(maps.Keys(now.Groups))); d != "" {
			t.Fatalf("%q became %s: %s", text, out, d)
		}
		for name, g := range was.Groups {
			if !slices.Equal(g.Hosts, now.Groups[name].Hosts) && name != "all" {
				t.Fatalf("%q became %s: the hosts of %s", text, out, name)
			}
			if got := now.Groups[name].Children; name != "all" && !slices.Equal(g.Children, got) {
				t.Fatalf("%q became %s: the children of %s", text, out, name)
			}
		}
		for _, vars := range now.Vars {
			for name, v := range vars {
				if _, plain := v.(string); plain && f == catalog.JSON {
					t.Fatalf("%q became %s: %s is no data", text, out, name)
				}
			}
		}
	})
}
