package inventory_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/catalog/internal/inventory"
	"github.com/writ-automation/writ/ports/catalog"
)

// answer is the output of the real ansible-inventory for one file.
type answer struct {
	Code     int
	Out, Err string
}

// view is the compared form of an inventory, with normalized names and values.
type view struct {
	Groups map[string]groupView
	Vars   map[string]map[string]any
}

type groupView struct {
	Hosts, Children []string
	Vars            map[string]any
}

// python returns the interpreter of the real ansible-inventory.
func python(t *testing.T) string {
	t.Helper()
	tool, err := exec.LookPath("ansible-inventory")
	if err != nil {
		t.Fatalf("ansible-inventory is missing, install it with `make setup`: %v", err)
	}
	text, err := os.ReadFile(tool)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(fields) == 0 {
		t.Fatalf("%s begins with %q, no interpreter", tool, line)
	}
	return fields[len(fields)-1]
}

// environment returns an environment that is independent of the machine's configuration. An empty list of plugins means
// the default list.
func environment(t *testing.T, plugins string) []string {
	t.Helper()
	config := write(t, filepath.Join(t.TempDir(), "ansible.cfg"), "[defaults]\n")
	env := append(os.Environ(), "ANSIBLE_CONFIG="+config, "ANSIBLE_INVENTORY_UNPARSED_FAILED=1", "ANSIBLE_NOCOLOR=1",
		"LC_ALL=C.UTF-8")
	if plugins != "" {
		env = append(env, "ANSIBLE_INVENTORY_ENABLED="+plugins)
	}
	return env
}

// ask runs ansible-inventory once for all files.
func ask(t *testing.T, plugins string, files []string) map[string]answer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python(t), append([]string{filepath.Join("testdata", "list.py")}, files...)...)
	cmd.Env = environment(t, plugins)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ansible-inventory: %v\n%s", err, stderr.String())
	}
	var answers map[string]answer
	if err := json.Unmarshal(out, &answers); err != nil {
		t.Fatal(err)
	}
	return answers
}

// compare returns the difference between the real output and the result of Parse, empty for none.
func compare(text string, format catalog.Format, real answer) string {
	content, err := inventory.Parse([]byte(text), format)
	hosts, groups, countErr := inventory.Count([]byte(text), format)
	switch {
	case real.Code != 0 && err != nil:
		return ""
	case real.Code != 0:
		return fmt.Sprintf("Ansible refuses, Parse does not: %s", real.Err)
	case err != nil:
		return fmt.Sprintf("Parse refuses, Ansible does not: %v\n%s", err, real.Out)
	case countErr != nil || hosts != len(content.Hosts) || groups != len(content.Groups)-2:
		return fmt.Sprintf("Count says %d, %d, %v", hosts, groups, countErr)
	}
	want, wrong := theirs(real.Out)
	if wrong != nil {
		return wrong.Error() + "\n" + real.Out
	}
	return cmp.Diff(want, ours(content))
}

// theirs parses the output of --list --export, which omits the hosts of all, and empty groups.
func theirs(out string) (view, error) {
	dec := json.NewDecoder(strings.NewReader(out))
	dec.UseNumber()
	raw := map[string]map[string]any{}
	if err := dec.Decode(&raw); err != nil {
		return view{}, err
	}
	v := view{Groups: map[string]groupView{"all": {}, "ungrouped": {}}, Vars: map[string]map[string]any{}}
	hostvars, _ := raw["_meta"]["hostvars"].(map[string]any)
	for name, vars := range hostvars {
		v.Vars[name] = plain(vars).(map[string]any)
	}
	delete(raw, "_meta")
	for name, g := range raw {
		gv := groupView{Hosts: texts(g["hosts"]), Children: texts(g["children"])}
		if vars, ok := g["vars"]; ok {
			gv.Vars = plain(vars).(map[string]any)
		}
		slices.Sort(gv.Children)
		v.Groups[name] = gv
	}
	for _, g := range raw {
		for _, child := range texts(g["children"]) {
			if _, ok := v.Groups[child]; !ok {
				v.Groups[child] = groupView{}
			}
		}
	}
	return v, nil
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		out = append(out, item.(string))
	}
	return out
}

func ours(c *catalog.InventoryContent) view {
	v := view{Groups: map[string]groupView{}, Vars: map[string]map[string]any{}}
	for name, g := range c.Groups {
		for _, host := range g.Hosts {
			if vars, ok := c.Vars[host]; ok {
				v.Vars[host] = plain(vars).(map[string]any)
			}
		}
		gv := groupView{Hosts: g.Hosts, Children: slices.Sorted(slices.Values(g.Children))}
		if name == "all" {
			gv.Hosts = nil
		}
		if len(gv.Hosts) == 0 {
			gv.Hosts = nil
		}
		if g.Vars != nil {
			gv.Vars = plain(prioritized(g.Vars)).(map[string]any)
		}
		if len(gv.Vars) == 0 {
			gv.Vars = nil
		}
		v.Groups[name] = gv
	}
	return v
}

// prioritized normalizes the priority of a group as the tool prints it: a whole number, omitted if it is the default.
func prioritized(vars map[string]any) map[string]any {
	const key = "ansible_group_priority"
	out := maps.Clone(vars)
	n := int64(0)
	switch v := vars[key].(type) {
	case nil:
		return out
	case int64:
		n = v
	case float64:
		n = int64(v)
	case bool:
		n = map[bool]int64{true: 1}[v]
	case string:
		n, _ = strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	}
	if out[key] = n; n == 1 {
		delete(out, key)
	}
	return out
}

// plain normalizes numbers and keeps whole numbers and floats distinct.
func plain(v any) any {
	switch v := v.(type) {
	case int64:
		return "whole " + strconv.FormatInt(v, 10)
	case float64:
		return "float " + strconv.FormatFloat(v, 'g', -1, 64)
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(string(v), ".eE") {
			return plain(f)
		}
		return "whole " + string(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = plain(v[k])
		}
		return out
	default:
		return v
	}
}

// write writes a text to a new file.
func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestCases compares every case of testdata with the output of the plugin for its format.
func TestCases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		file    string
		plugin  string
		format  catalog.Format
		byLines bool
	}{
		{"cases.ini", "ini", catalog.INI, false}, {"taken.ini", "ini", catalog.INI, false},
		{"refused.ini", "ini", catalog.INI, true},
		{"cases.yaml", "yaml", catalog.YAML, false}, {"cases.json", "yaml", catalog.JSON, false},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			separator := "=====\n"
			if c.byLines {
				separator = "\n"
			}
			texts := map[string]string{}
			var files []string
			for i, part := range strings.Split(string(text), separator) {
				name := filepath.Join(dir, fmt.Sprintf("%s-%d.%s", c.file, i, c.format))
				texts[name] = part
				files = append(files, write(t, name, part))
			}
			answers := ask(t, c.plugin, files)
			for _, name := range files {
				if diff := compare(texts[name], c.format, answers[name]); diff != "" {
					t.Errorf("%s\n%s", texts[name], diff)
				}
			}
		})
	}
}
