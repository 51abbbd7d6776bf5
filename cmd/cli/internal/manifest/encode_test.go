package manifest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/cmd/cli/internal/manifest"
)

// yamlTexts are texts that YAML is prone to read as something else, and any others.
func yamlTexts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"yes", "n", "0777", "1_000", "1.10", "1e3", "null", "~", "", " ", "a: b", "a #b", "- a", "*x", "&x", "!x", "<<", "=",
			"%a", "@a", "`a`", "'a'", "\"a\"",
			"a\n", "\na", " a\nb", "a\n\n", "a\n\nb\n", "a \nb", "\ta\nb", "a\r\nb\r\n", "a\tb\nc\n", "---\na\n", "...\na\n",
			"# a\n# b\n", "2024-01-02", "1:30", "é\nü\n",
			"\u2028\nx", "\ufeffa\nb", "a:\n  b\n", "{{ x }}", "{% if %}\n", "\x01", "\u0085\nx", "a\n  b\n c\n", ".", "..",
			".5", "0x1F", "[a", "a,b", "a: ", "x:", "?", "|", ">",
		}),
		rapid.StringN(0, 12, -1), rapid.StringMatching(`([ -~]{0,8}\n){0,6}`),
	)
}

func value() *rapid.Generator[any] {
	return rapid.Deferred(func() *rapid.Generator[any] {
		return rapid.OneOf(
			rapid.Map(yamlTexts(), func(s string) any { return s }),
			rapid.SampledFrom([]any{nil, true, false, json.Number("0"), json.Number("-7"), json.Number("1.50"),
				json.Number("1e+30"), json.Number("123456789012345678901234567890"),
				json.Number("18446744073709551615"), json.Number("9223372036854775808"), json.Number("-0")}),
			rapid.Map(rapid.SliceOfN(value(), 0, 3), func(l []any) any { return append([]any{}, l...) }),
			rapid.Map(rapid.MapOfN(yamlTexts(), value(), 0, 3), func(m map[string]any) any { return m }),
		)
	})
}

// TestWrittenIsRead writes any values and reads the same ones again, here and with another reader of YAML.
func TestWrittenIsRead(t *testing.T) {
	t.Parallel()
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		d := &manifest.Document{Key: manifest.Key{Kind: manifest.Template, Name: "a" + yamlTexts().Draw(t, "name")},
			Spec: map[string]any{
				"command": yamlTexts().Draw(t, "command"), "limit": yamlTexts().Draw(t, "limit"),
				"extra_vars": rapid.MapOfN(yamlTexts(), value(), 1, 4).Draw(t, "extra_vars"),
				"survey":     []any{map[string]any{"var": "v", "default": value().Draw(t, "default")}},
				"tags":       []any{yamlTexts().Draw(t, "tag")},
			}}
		raw, beside, err := manifest.Encode(d, "t", nil)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{"t.yaml": string(raw)}
		for name, content := range beside {
			files[name] = content
		}
		docs, err := manifest.Read(tree(outer, files))
		if err != nil || len(docs) != 1 {
			t.Fatalf("%v\n%s", err, raw)
		}
		k, _ := manifest.KindOf(manifest.Template)
		if diff := cmp.Diff(manifest.Normal(k, d.Spec), manifest.Normal(k, docs[0].Spec)); diff != "" ||
			docs[0].Name != d.Name {
			t.Errorf("%s\n%q %q\n%s", diff, d.Name, docs[0].Name, raw)
		}
		var other struct {
			Spec struct {
				Limit any
				Tags  []any
			}
		}
		if err := yaml.Unmarshal(raw, &other); err != nil {
			t.Fatal(err)
		}
		if want := d.Spec["tags"].([]any)[0]; other.Spec.Tags[0] != want {
			t.Errorf("another reader has %#v for %q", other.Spec.Tags[0], want)
		}
	})
}

func TestEncodes(t *testing.T) {
	t.Parallel()
	script := "set -e\necho 1\necho 2\necho 3\n"
	x := manifest.Index{}
	web, other := manifest.Key{Kind: manifest.Inventory, Name: "web"},
		manifest.Key{Kind: manifest.Inventory, Name: "web", Org: "bank"}
	x.Add(web)
	x.Add(other)
	d := &manifest.Document{Key: manifest.Key{Kind: manifest.Template, Name: "Deploy: all", Org: "bank"},
		Spec: map[string]any{
			"steps": []any{
				map[string]any{"name": "one", "tool": "bash", "command": script, "inventory": manifest.Ref{Key: other}},
				map[string]any{"name": "two", "tool": "ansible", "playbook": "b.yml", "inventory": manifest.Ref{Key: web},
					"extra_vars": map[string]any{"b": "x\ny\n", "a": json.Number("1")}},
			},
			"tool": "ansible", "forks": json.Number("0"), "tags": []any{}, "labels": map[string]any{}, "dry_run": false,
			"queue": "",
			"survey": []any{map[string]any{"var": "v", "type": "int", "required": false, "default": json.Number("0"),
				"min": json.Number("0")}},
			"credentials": []any{manifest.Ref{Key: manifest.Key{Kind: manifest.Credential}, ID: "crd_1"},
				manifest.Ref{Key: manifest.Key{Kind: manifest.Credential, Name: "key"}, Bare: true}},
		}}
	raw, beside, err := manifest.Encode(d, "deploy-all", x)
	if err != nil {
		t.Fatal(err)
	}
	want := `kind: Template
name: "Deploy: all"
org: bank
spec:
  credentials:
    - crd_1
    - key
  survey:
    - var: v
      type: int
      default: 0
      min: 0
  steps:
    - name: one
      tool: bash
      command_file: deploy-all.steps-1.command.sh
      inventory: web
    - name: two
      playbook: b.yml
      inventory:
        name: web
        org: ""
      extra_vars:
        a: 1
        b: |
          x
          y
`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"deploy-all.steps-1.command.sh": script}, beside); diff != "" {
		t.Error(diff)
	}
}

func TestSlugs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Deploy: all hosts": "deploy-all-hosts", "../../etc": "etc", "": "unnamed", "日本": "unnamed", "a..b": "a-b",
		"-a-": "a", "CON": "con",
		strings.Repeat("x", 200): strings.Repeat("x", 60),
	} {
		if got := manifest.Slug(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// TestDiffs checks that a diff without the lines of one side is the text of the other side.
func TestDiffs(t *testing.T) {
	t.Parallel()
	k, _ := manifest.KindOf(manifest.Template)
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		a, b := rapid.SliceOfN(line, 1, 12).Draw(t, "a"), rapid.SliceOfN(line, 1, 12).Draw(t, "b")
		changes := manifest.Compare(k, map[string]any{"command": strings.Join(a, "\n") + "\n"},
			map[string]any{"command": strings.Join(b, "\n") + "\n"})
		if len(changes) == 0 {
			if !cmp.Equal(a, b) {
				t.Fatal("no change")
			}
			return
		}
		minus, plus := 0, 0
		for _, l := range changes[0].Lines {
			switch l[0] {
			case '-':
				minus++
			case '+':
				plus++
			}
		}
		common := longest(a, b)
		if minus != len(a)-common || plus != len(b)-common {
			t.Errorf("%d gone and %d new, of %d and %d with %d in common:\n%s", minus, plus, len(a), len(b), common,
				strings.Join(changes[0].Lines, "\n"))
		}
	})
}

// longest is the length of the longest common sequence.
func longest(a, b []string) int {
	best := make([][]int, len(a)+1)
	best[0] = make([]int, len(b)+1)
	for i := range a {
		best[i+1] = make([]int, len(b)+1)
		for j := range b {
			if a[i] == b[j] {
				best[i+1][j+1] = best[i][j] + 1
			} else {
				best[i+1][j+1] = max(best[i][j+1], best[i+1][j])
			}
		}
	}
	return best[len(a)][len(b)]
}

func TestLargeDiff(t *testing.T) {
	t.Parallel()
	k, _ := manifest.KindOf(manifest.Inventory)
	var a, b strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&a, "old%d\n", i)
		fmt.Fprintf(&b, "new%d\n", i)
	}
	changes := manifest.Compare(k, map[string]any{"content": a.String()}, map[string]any{"content": b.String()})
	if len(changes) != 1 || len(changes[0].Lines) != 201 ||
		changes[0].Lines[200] != "  ... and more: 50000 lines are there, 50000 will be" {
		t.Errorf("%d lines, the last %q", len(changes[0].Lines), changes[0].Lines[len(changes[0].Lines)-1])
	}
}
