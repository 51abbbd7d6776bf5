package objects

import (
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
)

const stepSchema = `{"type":"array","items":{"type":"object","x-order":["name","tool","command","depends_on","on"],"properties":{
	"name":{"type":"string"},"tool":{"type":"string"},"command":{"type":"string"},"retries":{"type":"integer"},
	"on":{"type":"string","enum":["success","failure","always"]},"continue_on_failure":{"type":"boolean"},
	"depends_on":{"type":"array","items":{"type":"string"}}}}}`

var stepsArea = regexp.MustCompile(`(?s)<textarea[^>]*name="steps:yaml"[^>]*>(.*?)</textarea>`)

// stepsEditorOf returns the editor of stored steps.
func stepsEditorOf(t *testing.T, stored any) field {
	t.Helper()
	b := testBuilder(t)
	b.r = &shell.Request{Request: httptest.NewRequest(http.MethodGet, "/ui/objects/templates/new?copy=<b>", nil)}
	var s schema
	if err := json.Unmarshal([]byte(stepSchema), &s); err != nil {
		t.Fatal(err)
	}
	b.table.Members = map[string]memberSpec{"steps": {Widget: "steps"}}
	return b.field("steps", &s, stored, false)
}

// TestStepsEditorEscapesHostileTexts renders the editor of steps with hostile names, and of what was refused.
func TestStepsEditorEscapesHostileTexts(t *testing.T) {
	t.Parallel()
	ctx := shell.WithViewer(t.Context(), shell.Viewer{ID: `usr_"><b>`}, time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC))
	for _, text := range []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "\u202egnp.exe",
		"</textarea><script>", "a\n- name: b", "' onmouseover='x", "</template><script>"} {
		f := stepsEditorOf(t, []any{map[string]any{"name": text, "command": text, "depends_on": []any{text}}})
		f.Steps.Problems = []stepProblem{{Name: text, Member: text, Message: text, Line: 1}}
		var out strings.Builder
		if err := oneField(f).Render(ctx, &out); err != nil {
			t.Fatal(err)
		}
		if m := unsafe.FindString(values.ReplaceAllString(out.String(), `""`)); m != "" {
			t.Errorf("%q gives %q", text, m)
		}
		seen := map[string]bool{}
		for _, m := range ids.FindAllStringSubmatch(out.String(), -1) {
			if seen[m[1]] {
				t.Errorf("the id %s is there twice", m[1])
			}
			seen[m[1]] = true
		}
		area := stepsArea.FindStringSubmatch(out.String())
		if area == nil {
			t.Fatalf("no text of the steps: %s", out.String())
		}
		read := readText(html.UnescapeString(area[1]))
		if len(read.Steps) != 1 || textOf(read.Steps[0].(map[string]any)["name"]) != text || read.Problem != "" {
			t.Errorf("%q is read as %+v", text, read)
		}
	}
}

// TestStepsEditorSendsOnlyTheText checks that the fields of the chosen step are no members of the body.
func TestStepsEditorSendsOnlyTheText(t *testing.T) {
	t.Parallel()
	f := stepsEditorOf(t, nil)
	if f.Name != "steps:yaml" || f.Value != "" || f.Steps.Stored != "[]" || len(f.Steps.Fields) != 6 ||
		f.Steps.Order != "name tool command depends_on on continue_on_failure retries" {
		t.Errorf("the field is %+v with %+v", f.FieldSpec, f.Steps)
	}
	for _, x := range f.Steps.Fields {
		if !strings.HasPrefix(x.Name, "_step.") || x.Value != "" {
			t.Errorf("the field %s is sent, with %q", x.Name, x.Value)
		}
	}
	if text := stepsEditorOf(t, "- name: a\n").Value; text != "- name: a\n" {
		t.Errorf("the text of the query is %q", text)
	}
}

func TestStepsAreReadWithTheirLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"name: x\n": noListText, "- name: a\n- b\n": "line 2: " + noStepText,
		"\n- tool: bash\n": "line 2: " + noNameText, "- name: 1\n": "line 1: " + noNameText,
		"- a: [\n": "is not YAML: line 1"} {
		if got := readText(text).Problem; !strings.Contains(got, want) {
			t.Errorf("%q: %q, expected %q", text, got, want)
		}
	}
	raw, err := json.Marshal(readText(""))
	if string(raw) != `{"steps":[],"lines":[]}` {
		t.Errorf("no steps: %s %v", raw, err)
	}
}

// TestRefusalsAreAtTheirSteps checks that a refusal of the API names its step, its line and its member.
func TestRefusalsAreAtTheirSteps(t *testing.T) {
	t.Parallel()
	list := []httpapi.FieldError{{Location: "steps[1].depends_on[0]", Message: "m"},
		{Location: "steps[7].name", Message: "n"}, {Location: "steps", Message: "o"},
		{Location: "body.steps[0]", Message: "p"}, {Location: "steps[x].name", Message: "q"}}
	got := problemsOf(list, "- name: a\n\n# b\n- name: b\n")
	want := []stepProblem{{Step: 1, Name: "b", Line: 4, Member: "depends_on", Message: "m"},
		{Step: 0, Name: "a", Line: 1, Message: "p"}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("the problems are %+v", got)
	}
	if got := problemsOf(list, "- *a"); got != nil {
		t.Errorf("problems of a text that cannot be read: %+v", got)
	}
}
