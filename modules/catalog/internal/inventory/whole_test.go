package inventory_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/catalog/internal/inventory"
	"github.com/writ-automation/writ/ports/catalog"
)

// TestWhole compares whole inventories with the output of ansible-inventory with its default plugins. It also compares
// the inventories of other projects, if they are next to the checkout.
func TestWhole(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("WRIT_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "..", "..", "shared")
	}
	formats := map[string]catalog.Format{".ini": catalog.INI, ".yml": catalog.YAML, ".yaml": catalog.YAML,
		".json": catalog.JSON}
	texts, own := map[string]string{}, map[string]bool{}
	fixtures := filepath.Join("testdata", "whole")
	var files []string
	for _, dir := range []string{fixtures, filepath.Join(shared, "testdata", "inventories")} {
		entries, err := os.ReadDir(dir)
		if err != nil && dir == fixtures {
			t.Fatal(err)
		}
		for _, e := range entries {
			if formats[filepath.Ext(e.Name())] == "" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			// Read a copy, since ansible-inventory would run an executable file.
			copied := write(t, filepath.Join(t.TempDir(), e.Name()), string(text))
			texts[copied], own[copied] = string(text), dir == fixtures
			files = append(files, copied)
		}
	}
	if len(files) < 10 {
		t.Fatalf("%d inventories only", len(files))
	}
	answers := ask(t, "", files)
	for _, name := range files {
		if own[name] && answers[name].Code != 0 {
			t.Errorf("%s: %s", name, answers[name].Err)
		}
		if diff := compare(texts[name], formats[filepath.Ext(name)], answers[name]); diff != "" {
			t.Errorf("%s\n%s", name, diff)
		}
	}
}

// TestCommand runs the command itself once, as a user does, to check that the other tests query the same code.
func TestCommand(t *testing.T) {
	t.Parallel()
	name := filepath.Join("testdata", "sample.ini")
	cmd := exec.CommandContext(t.Context(), "ansible-inventory", "-i", name, "--list", "--export")
	cmd.Env = environment(t, "")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ansible-inventory, which `make setup` installs: %v", err)
	}
	if diff := cmp.Diff(string(out), ask(t, "", []string{name})[name].Out); diff != "" {
		t.Error(diff)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := compare(string(text), catalog.INI, answer{Out: string(out)}); diff != "" {
		t.Error(diff)
	}
}

// anyINI draws small inventories with few names, so that names repeat.
func anyINI(t *rapid.T) string {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	name := func() string {
		return pick("name", "a", "b", "web1", "web2", "web[1:3]", "web[01:03]", "db[a:c]", "a:22", "[::1]:23", "g", "h",
			"x.y", "w[1:2][a:b]", "web[3:1]")
	}
	value := func() string {
		return pick("value", "1", "01", "1.5", "yes", "True", "None", "[1,2]", "{'a':1}", `"q r"`, `'it"s'`, "a=b", "", "'1'",
			`"[1, 'x']"`, "a#b", `\x`, "(1,)", "{{x}}", "-3", "0x1f", "1_0")
	}
	var b strings.Builder
	kind := "hosts"
	for range rapid.IntRange(1, 9).Draw(t, "lines") {
		switch pick("line", "section", "item", "item", "item", "comment") {
		case "section":
			kind = pick("kind", "hosts", "hosts", "vars", "children")
			group := pick("group", "g", "h", "k", "all", "ungrouped", "a")
			b.WriteString("[" + group + map[string]string{"hosts": "", "vars": ":vars", "children": ":children"}[kind] + "]" +
				pick("tail", "", "", " # c") + "\n")
		case "comment":
			b.WriteString(pick("comment", "# c", "; c", "", "  # c") + "\n")
		default:
			switch kind {
			case "hosts":
				b.WriteString(name())
				for range rapid.IntRange(0, 2).Draw(t, "vars") {
					b.WriteString(" " + pick("key", "x", "y", "ansible_port") + "=" + value())
				}
			case "vars":
				b.WriteString(pick("key", "x", "y ", "ansible_group_priority") + "=" + value())
			default:
				b.WriteString(pick("child", "g", "h", "k", "ungrouped", "h # c"))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// TestGenerated queries all generated inventories in one run, since the tool starts slowly. A failure prints the small
// inventory.
func TestGenerated(t *testing.T) {
	t.Parallel()
	const most = 80
	dir := t.TempDir()
	texts := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		text := anyINI(t)
		if _, err := inventory.Parse([]byte(text), catalog.INI); err != nil && len(texts)%4 != 0 {
			return // most of the compared inventories must be valid
		}
		if len(texts) < most {
			texts[text] = true
		}
	})
	if len(texts) < most/3 {
		t.Fatalf("%d inventories only", len(texts))
	}
	byName := map[string]string{}
	var files []string
	for text := range texts {
		name := filepath.Join(dir, "drawn-"+string(rune('a'+len(files)/26))+string(rune('a'+len(files)%26))+".ini")
		byName[name] = text
		files = append(files, write(t, name, text))
	}
	answers := ask(t, "ini", files)
	for _, name := range files {
		if diff := compare(byName[name], catalog.INI, answers[name]); diff != "" {
			t.Errorf("%s\n%s", byName[name], diff)
		}
	}
}
