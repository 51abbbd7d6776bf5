package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/inventory"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/waittest"
)

// dynamic is a script whose listing uses every feature.
const dynamic = `#!/usr/bin/env python3
import json, os, sys
print(json.dumps({
    "_meta": {"hostvars": {
        "h10": {"big": 123456789012345678901234567890, "ratio": 0.1, "text": "<&>\u2028 \u00fc \U0001f600", "none": None, "yes": True},
        "h9": {"sealed": {"__ansible_vault": "$ANSIBLE_VAULT;1.1;AES256\n3030\n"}, "raw": {"__ansible_unsafe": "{{ lookup('pipe', 'id') }}"}},
        "h2": {"list": [1, {"a": []}, "{{ templated }}"], "ansible_host": "10.0.0.2"},
        "nowhere": {"x": 1}}},
    "web": {"hosts": ["h10", "h9", "h2"], "vars": {"port": 8080, "nested": {"a": {"b": 1.50}}}, "children": ["edge"]},
    "edge": ["h2", "h1"],
    "site": {"children": ["web", "db"]},
    "db": {"hosts": [], "children": ["empty"], "vars": {"x": "y"}},
    "solo": {"ansible_host": "10.0.0.9"},
    "all": {"vars": {"everywhere": "yes"}},
    "ungrouped": {"hosts": ["loose"]},
}))
`

func TestScripts(t *testing.T) {
	t.Parallel()
	k := collector(t, nil)
	dir := t.TempDir()
	want := ansibleInventory(t, write(t, filepath.Join(dir, "dynamic"), dynamic, 0o755),
		"ANSIBLE_INVENTORY_ENABLED=script")
	content, format := collect(t, k, script(strings.ReplaceAll(dynamic, "\n", "\r\n")))
	if format != catalog.JSON {
		t.Error(format)
	}
	got := ansibleInventory(t, write(t, filepath.Join(dir, "back.json"), content, 0o600), "ANSIBLE_INVENTORY_ENABLED=yaml")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, content)
	}
	for _, part := range []string{"123456789012345678901234567890", `{"__ansible_vault":`, `{"__ansible_unsafe":`,
		`"h10":{"big"`} {
		if !strings.Contains(content, part) {
			t.Errorf("%s is not in %s", part, content)
		}
	}
	if strings.Index(content, `"h10"`) > strings.Index(content, `"h9"`) || strings.Contains(content, "nowhere") {
		t.Error("the order of hosts is lost, or there are more of them")
	}
}

// script and plugin return sources without a project.
func script(text string) catalog.Collection {
	return catalog.Collection{Kind: catalog.ScriptSource, Config: catalog.SourceConfig{Content: text}}
}

func plugin(config map[string]any) catalog.Collection {
	return catalog.Collection{Kind: catalog.PluginSource, Config: catalog.SourceConfig{Plugin: config}}
}

// TestScriptsOfProjects runs a script of a checkout with its group variables and its ansible.cfg.
func TestScriptsOfProjects(t *testing.T) {
	t.Parallel()
	k := collector(t, func(c *inventory.Config) {
		c.Environ = []string{"GIVEN=by the operator", "ANSIBLE_INVENTORY_ENABLED=auto"}
	})
	tree := t.TempDir()
	write(t, filepath.Join(tree, "inventory/hosts.py"), "#!/usr/bin/env python3\nimport json, os, sys\n"+
		"print(json.dumps({'_meta': {'hostvars': {'h1': {'cwd': os.getcwd(), 'env': sorted(os.environ), 'given': "+
		"os.environ['GIVEN']}}}, 'web': ['h1']}))\n", 0o644)
	write(t, filepath.Join(tree, "inventory/group_vars/web.yml"), "from_tree: 1\n", 0o644)
	if err := os.Symlink("inventory/hosts.py", filepath.Join(tree, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"inventory/hosts.py", "link"} {
		content, _ := collect(t, k, catalog.Collection{Kind: catalog.ScriptSource, Tree: tree, Path: path})
		for _, part := range []string{`"cwd":"` + tree + `"`, `"given":"by the operator"`, `"from_tree":1`} {
			if !strings.Contains(content, part) {
				t.Errorf("%s: %s is not in %s", path, part, content)
			}
		}
		for _, part := range []string{"GOPATH", "GOCACHE", "SSH_AUTH_SOCK", "\"USER\""} {
			if strings.Contains(content, part) {
				t.Errorf("the environment has %s", part)
			}
		}
	}
	outside := write(t, filepath.Join(t.TempDir(), "x"), "#!/bin/sh\ntouch "+tree+"/executed\n", 0o755)
	if err := os.Symlink(outside, filepath.Join(tree, "out")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"out", "../x", outside, "inventory", "none", "."} {
		refused(t, k, catalog.Collection{Kind: catalog.ScriptSource, Tree: tree, Path: path})
	}
	if _, err := os.Lstat(filepath.Join(tree, "executed")); err == nil {
		t.Error("a program outside of the checkout was executed")
	}
}

func TestScriptsFail(t *testing.T) {
	t.Parallel()
	k := collector(t, func(c *inventory.Config) { c.Environ = []string{"API_TOKEN=c4nary"} })
	refused(t, k, script("#!/bin/sh\necho first >&2\n"+
		"echo \"boom: https://u:p@example.com \x1b[31m$API_TOKEN\" >&2\nexit 3\n"), "boom: https://example.com", "***",
		"ended with exit code 3: ", "first boom")
	refused(t, k, script("#!/bin/sh\nexit 7\n"), "ended with exit code 7")
	err := refused(t, k, script("#!/bin/sh\nfor i in $(seq 2000); do echo \"line $i\"; done >&2\n"+
		"echo $API_TOKEN >&2\nexit 1\n"),
		"ended with exit code 1: ", "line 1999 line 2000 ***")
	if n := len(err.Error()); n > 4096 || strings.Contains(err.Error(), "line 1 ") {
		t.Errorf("%d bytes: %v", n, err)
	}
	refused(t, k, script("#!/bin/sh\necho no json\n"), "ansible-inventory failed")
	refused(t, k, script("#!/bin/sh\necho '[1]'\n"), "ansible-inventory failed")
	refused(t, k, script("#!/no/such/interpreter\n"), "ansible-inventory failed")
	refused(t, k, script("localhost ansible_connection=local\n"), "ansible-inventory failed") // it is not parsed as INI
	refused(t, k, script(" \n"), "neither a program nor a path")
	refused(t, k, catalog.Collection{Kind: "other"}, "kind")
	refused(t, collector(t, func(c *inventory.Config) { c.AnsibleInventory = "no-such-program" }), script("#!/bin/sh\n"),
		"not installed")
}

func TestPlugins(t *testing.T) {
	t.Parallel()
	k := collector(t, nil)
	config := map[string]any{
		"plugin": "ansible.builtin.generator", "hosts": map[string]any{"name": "{{ tier }}_{{ n }}", "parents": []any{
			map[string]any{"name": "{{ tier }}", "vars": map[string]any{"tier_of": "{{ tier }}"},
				"parents": []any{map[string]any{"name": "site"}}},
		}},
		"layers": map[string]any{"tier": []any{"web", "db"}, "n": []any{"a", "b"}},
	}
	content, format := collect(t, k, plugin(config))
	if format != catalog.JSON {
		t.Error(format)
	}
	got := ansibleInventory(t, write(t, filepath.Join(t.TempDir(), "back.json"), content, 0o600))
	delete(got["_meta"].(map[string]any), "profile") // how marks are written, from 2.19 on
	want := map[string]any{
		"_meta": map[string]any{"hostvars": map[string]any{}}, "all": map[string]any{"children": []any{"ungrouped", "site"}},
		"site": map[string]any{"children": []any{"web", "db"}},
		"web":  map[string]any{"hosts": []any{"web_a", "web_b"}, "vars": map[string]any{"tier_of": "web"}},
		"db":   map[string]any{"hosts": []any{"db_a", "db_b"}, "vars": map[string]any{"tier_of": "db"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, content)
	}
	for _, name := range []any{nil, 1, "", "a b", "../x", "-x", "a,b", "a\nb", "script,ini", ".x",
		strings.Repeat("a", 300)} {
		refused(t, k, plugin(map[string]any{"plugin": name}), "no member plugin")
	}
	refused(t, k, plugin(map[string]any{"plugin": "acme.none.none", "password": "c4nary"}), "ansible-inventory failed")
	refused(t, k, plugin(map[string]any{"plugin": "generator", "api_token": "c4nary", "hosts": "c4nary"}))
}

// TestProgramsEnd runs a program that never ends with a child that holds its output, and a program with a detached
// child.
func TestProgramsEnd(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	hanging := catalog.Collection{Kind: catalog.ScriptSource, Config: catalog.SourceConfig{
		Content: fmt.Sprintf("#!/bin/sh\ntrap '' TERM\nsh -c 'echo x >\"$0\"; sleep 1000; :' %s &\nwait\n", mark),
	}}
	k := collector(t, func(c *inventory.Config) { c.Timeout = 1500 * time.Millisecond })
	refused(t, k, hanging, "within 1.5s")
	ctx, cancel := context.WithCancel(t.Context())
	if err := os.RemoveAll(mark); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	patient := collector(t, nil)
	go func() { _, _, err := patient.Collect(ctx, hanging); done <- err }()
	waittest.Eventually(t, 20*time.Second, "the script does not begin", func() bool {
		_, err := os.Stat(mark)
		return err == nil
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// It is killed by now, and the kernel may still be ending it.
	waittest.Eventually(t, 20*time.Second, "a process is left", func() bool { return !alive(t, mark) })
	away := fmt.Sprintf("#!/bin/sh\nsetsid sh -c 'sleep 1000; :' %s >/dev/null 2>&1 &\necho '{}'\n", mark)
	collect(t, patient, script(away))
	waittest.Eventually(t, 20*time.Second, "a process is left", func() bool { return !alive(t, mark) })
}

// alive reports whether a process has the text in its command line.
func alive(t *testing.T, text string) bool {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(all, func(path string) bool {
		b, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(b), text)
	})
}

// TestFloods runs a program with endless output.
func TestFloods(t *testing.T) {
	t.Parallel()
	flood := filepath.Join(t.TempDir(), "flood")
	write(t, flood, "#!/bin/sh\nexec yes\n", 0o755)
	refused(t, collector(t, func(c *inventory.Config) { c.AnsibleInventory = flood }), script("#!/bin/sh\n"), "more than")
}
