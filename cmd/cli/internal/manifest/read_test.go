package manifest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/cmd/cli/internal/manifest"
	"github.com/writ-automation/writ/ports/depthtest"
)

func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestBadFiles compares the messages and positions literally.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	template := "kind: Template\nname: a\nspec:\n"
	kinds := strings.Join(manifest.Names(), ", ")
	for _, c := range []struct{ content, want string }{
		{"kind: Template\nname: [a\n", "a.yaml:1: is not YAML: did not find expected ',' or ']'"},
		{"name: a\n",
			"a.yaml:1: kind: is missing; it is one of " + kinds},
		{"kind: template\nname: a\n",
			`a.yaml:1: kind: "template" is unknown: did you mean "Template"? The kinds are ` + kinds},
		{"kind: Template\n", "a.yaml:1: name: is missing"},
		{"kind: Template\nname: \"a\n\nb\x01\"\n", "a.yaml:4: is not YAML: control characters are not allowed"},
		{"kind: Template\nname: a\n\"\\e[2J\": x\n", `a.yaml:3: \x1b[2J: is unknown; the members are kind, name, org, spec`},
		{"- a\n", "a.yaml:1: must be an object"},
		{"kind: Template\nname: a\nspce: {}\n", `a.yaml:3: spce: is unknown: did you mean "spec"? The members are kind, name, org, spec`},
		{template + "  playbok: x\n",
			`a.yaml:4: spec.playbok: is unknown: did you mean "playbook"? ` +
				"The members are tool, playbook, command, command_file, inventory, " +
				"inventory_query, extra_vars, limit, tags, skip_tags, timeout, queue, inventory_path, " +
				"project, shards, forks, verbosity, diff_mode, dry_run, notifications, credentials, labels, change, " +
				"fail_on, locks, exclusive_hosts, survey, steps, selectable_credentials, allow_overrides, allowed_vars, " +
				"isolation_profile, dry_run_executes, require_approval, max_concurrent, when_busy"},
		{template + "  limit: a\n  limit: b\n", "a.yaml:5: spec.limit: is set twice"},
		{template + "  forks: many\n", "a.yaml:4: spec.forks: must be a whole number"},
		{template + "  forks: 0x10\n", "a.yaml:4: spec.forks: must be a whole number"},
		{template + "  forks: \"5\"\n", "a.yaml:4: spec.forks: must be a whole number"},
		{template + "  dry_run: yes\n", "a.yaml:4: spec.dry_run: must be true or false"},
		{template + "  tags: a\n", "a.yaml:4: spec.tags: takes a list"},
		{template + "  tags: [{a: b}]\n", "a.yaml:4: spec.tags[0]: takes a text"},
		{template + "  labels: [a]\n", "a.yaml:4: spec.labels: must be an object"},
		{template + "  limit: !!int 5\n", "a.yaml:4: spec.limit: tags such as !!int are not allowed"},
		{template + "  extra_vars: {a: !vault x}\n", "a.yaml:4: spec.extra_vars.a: tags such as !vault are not allowed"},
		{template + "  extra_vars:\n    a: 1\n    a: 2\n", "a.yaml:6: spec.extra_vars.a: is set twice"},
		{template + "  extra_vars: {[a]: 1}\n", "a.yaml:4: spec.extra_vars: names of members must be texts"},
		{template + "  extra_vars: &x {a: 1}\n  labels: {<<: *x}\n", "a.yaml:5: spec.labels: merge keys are not allowed"},
		{template + "  survey:\n  - var: a\n    typ: int\n",
			`a.yaml:6: spec.survey[0].typ: is unknown: did you mean "type"? ` +
				"The members are var, type, label, help, required, default, min, max, " +
				"min_length, max_length, pattern, choices"},
		{template + "  steps:\n  - name: a\n    command: x\n    command_file: y.sh\n",
			"a.yaml:7: spec.steps[0].command_file: command and command_file exclude each other"},
		{template + "  command_file: gone.sh\n", "a.yaml:4: spec.command_file: gone.sh: there is no such file"},
		{template + "  command_file: ../x.sh\n", `a.yaml:4: spec.command_file: "../x.sh" is not a path below the directory`},
		{template + "  command_file: /etc/passwd\n",
			`a.yaml:4: spec.command_file: "/etc/passwd" is not a path below the directory`},
		{template + "  command_file: out.sh\n",
			"a.yaml:4: spec.command_file: out.sh: cannot be read: path escapes from parent"},
		{template + "  command_file: .\n", "a.yaml:4: spec.command_file: .: is not a regular file"},
		{template + "  command_file: bytes.sh\n", "a.yaml:4: spec.command_file: bytes.sh: is not UTF-8"},
		{template + "  command_file: a.yaml\n", "a.yaml:4: spec.command_file: a.yaml is a file of the catalog itself"},
		{template + "  extra_vars: {a: " + deep + "}\n",
			"a.yaml:4: spec.extra_vars.a" + strings.Repeat("[0]", 62) + ": nests deeper than 64 levels"},
		{template + "  inventory: {id: x}\n", "a.yaml:4: spec.inventory.id: is unknown; the members are name, org"},
		{"kind: Project\nname: a\n---\nkind: Project\nname: a\n", `a.yaml:4: project "a" is already in DIR/a.yaml:1`},
		{"kind: InventorySource\nname: a\nspec: {kind: script, config: {url: 5, urls: x}}\n",
			`a.yaml:3: spec.config.urls: is unknown: did you mean "url"? The members are content, content_file, url, headers`},
		{"kind: Schedule\nname: a\nspec: {run: {steps: []}}\n",
			"a.yaml:3: spec.run.steps: is unknown; the members are name, tool, playbook, command, command_file, inventory, " +
				"inventory_query, extra_vars, limit, tags, skip_tags, timeout, queue, inventory_path, " +
				"project, shards, forks, verbosity, diff_mode, dry_run, notifications, credentials, labels, change, " +
				"fail_on, locks, exclusive_hosts, env, priority, require_approval"},
	} {
		dir := tree(t, map[string]string{"a.yaml": c.content, "bytes.sh": "\xff"})
		if err := os.Symlink("/etc/hostname", filepath.Join(dir, "out.sh")); err != nil {
			t.Fatal(err)
		}
		_, err := manifest.Read(dir)
		if err == nil {
			t.Errorf("%s: is taken\nwant %s", c.content, c.want)
			continue
		}
		got := strings.TrimPrefix(err.Error(), dir+"/")
		if first, _, _ := strings.Cut(got, "\n"); strings.ReplaceAll(first, dir, "DIR") != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.content, got, c.want)
		}
	}
}

// TestBombs are small files that would be large ones.
func TestBombs(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("kind: Template\nname: a\nspec:\n  extra_vars:\n    x0: &x0 [" + strings.Repeat("lol,", 9) + "lol]\n")
	for i := 1; i < 12; i++ {
		prev := "*x" + string(rune('a'+i-1))
		if i == 1 {
			prev = "*x0"
		}
		b.WriteString("    x" + string(rune('a'+i)) + ": &x" + string(rune('a'+i)) + " [" + strings.Repeat(prev+",", 9) +
			prev + "]\n")
	}
	var many strings.Builder
	for i := range manifest.MaxDocuments + 1 {
		fmt.Fprintf(&many, "{kind: Project, name: p%d}\n---\n", i)
	}
	bombs := map[string]string{
		"a cycle": "kind: Template\nname: a\nspec:\n  extra_vars: &x\n    a: *x\n",
		"long texts": "kind: Template\nname: a\nspec:\n  extra_vars:\n    a: &x \"" + strings.Repeat("x", 1<<20) +
			"\"\n    b: [" + strings.Repeat("*x,", 100) + "*x]\n",
		"documents": many.String(),
	}
	if depthtest.Long {
		// Both make a million values.
		bombs["billion laughs"] = b.String()
		bombs["two cycles"] = "kind: Template\nname: a\nspec:\n  extra_vars: &x\n    a: *x\n    b: *x\n"
	}
	for name, text := range bombs {
		_, err := manifest.Read(tree(t, map[string]string{"a.yaml": text}))
		if err == nil {
			t.Errorf("%s: is taken", name)
		} else if !strings.Contains(err.Error(), "too large") && !strings.Contains(err.Error(), "deeper") &&
			!strings.Contains(err.Error(), "more than 10000 documents") {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "a.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(manifest.MaxBytes + 1); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if _, err := manifest.Read(dir); err == nil ||
		!strings.Contains(err.Error(), "all files together are larger than 64 MiB") {
		t.Errorf("a large file: %v", err)
	}
}

// TestValues tests values that YAML readers interpret differently.
func TestValues(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"x/a.yml": `kind: Template
name: 2024-01-02
spec:
  limit: 010
  tags: [yes, 1.10, null, ~, "null"]
  playbook: on
  extra_vars:
    a: [yes, no, on, off, y, n, "true", true, True, FALSE]
    b: [1, -1, 1.50, 1e3, 010, 0o10, 0x1F, 1_000, 12345678901234567890123, .inf, 1:30, 2024-01-02, +1, .5]
    c: [null, ~, "", ]
    d: &anchor {yes: 1, 2: two}
    e: *anchor
    f: !!str 5
  labels: {n: 5, on: off}
---
# nothing
---
`, ".hidden/a.yaml": "nonsense", "hosts.yaml": "all: {hosts: {web1: }}\n",
		"inventory.yaml": "kind: Inventory\nname: i\nspec: {content_file: hosts.yaml, format: yaml}\n"})
	docs, err := manifest.Read(dir)
	if err != nil || len(docs) != 2 {
		t.Fatal(len(docs), err)
	}
	if docs[0].Spec["content"] != "all: {hosts: {web1: }}\n" || docs[0].Spec["format"] != "yaml" {
		t.Errorf("the content of a file: %v", docs[0].Spec)
	}
	n := func(s string) json.Number { return json.Number(s) }
	want := map[string]any{
		"limit": "010", "tags": []any{"yes", "1.10", "", "", "null"}, "playbook": "on",
		"labels": map[string]any{"n": "5", "on": "off"},
		"extra_vars": map[string]any{
			"a": []any{"yes", "no", "on", "off", "y", "n", "true", true, true, false},
			"b": []any{n("1"), n("-1"), n("1.50"), n("1e3"), "010", "0o10", "0x1F", "1_000", n("12345678901234567890123"),
				".inf", "1:30", "2024-01-02", "+1", ".5"},
			"c": []any{nil, nil, ""}, "d": map[string]any{"yes": n("1"), "2": "two"},
			"e": map[string]any{"yes": n("1"), "2": "two"}, "f": "5",
		},
	}
	if diff := cmp.Diff(want, docs[1].Spec); diff != "" || docs[1].Name != "2024-01-02" {
		t.Errorf("%s %s", docs[1].Name, diff)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	got, err := manifest.Answers("a.yaml", strings.NewReader("n: 007\nb: yes\nt: |\n  two\n  lines\nnone:\n"))
	if diff := cmp.Diff(map[string]string{"n": "007", "b": "yes", "t": "two\nlines\n"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for content, want := range map[string]string{
		"a: [1]\n":    "a.yaml:1: a: takes a text",
		"a: 1\na: 2":  "a.yaml:2: a: is set twice",
		"- a":         "a.yaml:1: must be an object",
		"a: b: c":     "a.yaml:1: is not YAML: mapping values are not allowed in this context",
		"a: &x [*x]x": "a.yaml:1: is not YAML: did not find expected key",
	} {
		if _, err := manifest.Answers("a.yaml", strings.NewReader(content)); err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", content, err, want)
		}
	}
	if _, err := manifest.Answers("a.yaml", strings.NewReader(strings.Repeat("#", 2<<20))); err == nil ||
		err.Error() != "a.yaml: is larger than 1 MiB" {
		t.Errorf("%v", err)
	}
}
