package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/extension"
)

const before = `
variable "size" { type = number }
variable "password" {
  type      = string
  sensitive = true
}
resource "terraform_data" "web" {
  input = { size = var.size, name = "<web>", gone = true }
}
resource "terraform_data" "login" {
  input = { user = "app", password = var.password }
}
resource "terraform_data" "disk" {
  triggers_replace = ["small"]
}
resource "terraform_data" "old" {
  input = "x"
}
resource "terraform_data" "moves" {}
output "size" { value = var.size }
output "password" {
  value     = var.password
  sensitive = true
}
output "gone" { value = 1 }
`

const after = `
variable "size" { type = number }
variable "password" {
  type      = string
  sensitive = true
}
resource "terraform_data" "web" {
  input = { size = var.size, name = "<web>" }
}
resource "terraform_data" "login" {
  input = { user = "app", password = var.password }
}
resource "terraform_data" "disk" {
  triggers_replace = ["large"]
}
resource "terraform_data" "new" {
  input = terraform_data.disk.id
}
resource "terraform_data" "moved" {}
moved {
  from = terraform_data.moves
  to   = terraform_data.moved
}
output "size" { value = var.size }
output "password" {
  value     = var.password
  sensitive = true
}
`

// TestFindings plans each kind of change with the real OpenTofu.
func TestFindings(t *testing.T) {
	t.Parallel()
	env, state := program(t), t.TempDir()
	spec := func(text, size, password string) extension.ToolSpec {
		return extension.ToolSpec{Command: stored(state, text), DryRun: true,
			ExtraVars: map[string]any{"size": json.Number(size), "password": password, "unused": []any{nil, "${x}"}}}
	}
	first := spec(before, "9007199254740993", "hunter2")
	first.DryRun = false
	if _, out := run(t, env, first, 0); !strings.Contains(out, "5 added") || strings.Contains(out, "hunter2") {
		t.Errorf("the apply says:\n%s", out)
	}
	plan, _ := run(t, env, spec(after, "9007199254740994", "swordfish"), 0)
	for i, f := range plan.Findings {
		if id := strings.Index(f.Diff, `id: "`); id >= 0 { // it is random
			plan.Findings[i].Diff = f.Diff[:id+5] + f.Diff[id+41:]
		}
	}
	want := []extension.PlanFinding{
		{Resource: "terraform_data.disk", Action: "replace",
			Diff: "id: \"\" -> (known after apply)\ntriggers_replace: [\"small\"] -> [\"large\"]"},
		{Resource: "terraform_data.login", Action: "update",
			Diff: "input.password: (sensitive value)\noutput: (sensitive value)"},
		{Resource: "terraform_data.moved", Action: "move", Diff: "moved from terraform_data.moves"},
		{Resource: "terraform_data.new", Action: "create",
			Diff: "id: (known after apply)\ninput: (known after apply)\noutput: (known after apply)"},
		{Resource: "terraform_data.old", Action: "delete", Diff: "id: \"\" -> nothing\ninput: \"x\" -> nothing\n" +
			"output: \"x\" -> nothing"},
		{Resource: "terraform_data.web", Action: "update", Diff: "input.gone: true -> nothing\n" +
			"input.size: 9007199254740993 -> 9007199254740994\noutput: " +
			`{"gone":true,"name":"<web>","size":9007199254740993} -> (known after apply)`},
		{Resource: "output.gone", Action: "delete", Diff: "1 -> nothing"},
		{Resource: "output.password", Action: "update", Diff: "(sensitive value)"},
		{Resource: "output.size", Action: "update", Diff: "9007199254740993 -> 9007199254740994"},
	}
	for i := range max(len(want), len(plan.Findings)) {
		if i >= len(want) || i >= len(plan.Findings) || want[i] != plan.Findings[i] {
			t.Errorf("got  %+v\nwant %+v", plan.Findings[min(i, len(plan.Findings)):], want[min(i, len(want)):])
			break
		}
	}
	if plan.Summary != "1 to create, 2 to delete, 1 to move, 1 to replace, 4 to update" {
		t.Errorf("the summary: %s", plan.Summary)
	}
	other, _ := run(t, env, spec(after, "9007199254740994", "trout"), 0)
	if !strings.HasPrefix(plan.Digest, "pbkdf2-sha256:") || other.Digest == plan.Digest {
		t.Errorf("plans with another sensitive value: %s and %s", plan.Digest, other.Digest)
	}
	refused := spec(after, "9007199254740994", "trout")
	refused.DryRun, refused.PlanDigest = false, plan.Digest
	if _, out := run(t, env, refused, planChanged); !strings.Contains(out, "nothing was applied") {
		t.Errorf("the log says:\n%s", out)
	}
	if again, _ := run(t, env, spec(after, "9007199254740994", "trout"), 0); !reflect.DeepEqual(again, other) {
		t.Errorf("the refused apply changed something:\n%+v\n%+v", again, other)
	}
}

// TestSensitive: a sensitive value is in no diff, also where OpenTofu does not know that it is.
func TestSensitive(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxLine-5)
	c := change{
		Before: map[string]any{"key": "hunter2", "copy": "user:hunter2@host", "long": long + "hunter2", "pin": "12",
			"port": json.Number("8012"), "list": []any{"a", map[string]any{"token": "s3cret"}},
			"changed": map[string]any{"x": "y"}},
		After: map[string]any{"port": json.Number("12"), "quoted": "\"12\"", "changed": "s3cret", "new": "a\nb"},
		BeforeSensitive: map[string]any{"key": true, "pin": true, "changed": map[string]any{"x": true},
			"list": []any{false, map[string]any{"token": true}}},
		AfterSensitive: false,
	}
	want := `changed: (sensitive value)
copy: (sensitive value)
key: (sensitive value)
list: (sensitive value)
long: (sensitive value)
new: "a\nb"
pin: (sensitive value)
port: 8012 -> 12
quoted: "\"12\""`
	if got := c.diff(c.secrets()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if whole := (change{Before: "hunter2", After: "x", AfterSensitive: true}); whole.diff(nil) != hiddenValue {
		t.Error(whole.diff(nil))
	}
}

// TestDigestIsOfTheChanges: a digest depends on no time and no order of resources, and on what provisioners do.
func TestDigestIsOfTheChanges(t *testing.T) {
	t.Parallel()
	read := func(text string) string {
		p, err := readPlan([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return p.Digest
	}
	const a = `{"address":"x.a","mode":"managed","change":{"actions":["create"],"after":{"n":1,"m":2}}}`
	const b = `{"address":"x.b","mode":"managed","change":{"actions":["update"],"before":{"n":1},"after":{"n":2}}}`
	const same = `{"address":"x.c","mode":"managed","change":{"actions":["no-op"],"before":{"n":1},"after":{"n":1}}}`
	one := read(`{"resource_changes":[` + a + "," + b + `],"timestamp":"then","configuration":{"c":1}}`)
	if one != read(`{"timestamp":"now","configuration":{"c":1},"resource_changes":[`+same+","+b+","+a+`]}`) {
		t.Error("the same changes have two digests")
	}
	for _, text := range []string{
		`{"resource_changes":[` + a + "," + b + `],"configuration":{"c":2}}`,
		`{"resource_changes":[` + b + `],"configuration":{"c":1}}`,
		`{"resource_changes":[` + a + "," + strings.Replace(b, `"before":{"n":1}`, `"before":{"n":0}`, 1) +
			`],"configuration":{"c":1}}`,
	} {
		if read(text) == one {
			t.Errorf("the digest is also that of %s", text)
		}
	}
	if _, err := readPlan([]byte("no plan")); err == nil {
		t.Error("a plan that is unreadable is read")
	}
}

func TestLimited(t *testing.T) {
	t.Parallel()
	l := limited{most: 5}
	for _, c := range []struct {
		add, kept string
		over      bool
	}{{"abc", "abc", false}, {"de", "abcde", false}, {"", "abcde", false}, {"f", "abcde", true}, {"", "abcde", true}} {
		if n, err := l.Write([]byte(c.add)); n != len(c.add) || err != nil {
			t.Errorf("%q: %d bytes, %v", c.add, n, err)
		}
		if l.bytes.String() != c.kept || l.over != c.over {
			t.Errorf("after %q it has %q, over %t", c.add, &l.bytes, l.over)
		}
	}
}
