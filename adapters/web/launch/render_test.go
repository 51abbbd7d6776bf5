package launch

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/adviceview"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// hostile has what must never reach a page as markup.
const hostile = "<script>x</script>\"><img src=x onerror=y>\u202e'`"

var forbidden = regexp.MustCompile(`(?i)<script>x|<img src=x|\sstyle=|\son[a-z]+="|\son[a-z]+='`)

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	viewer := shell.Viewer{ID: "u", Name: "mara", Role: identity.Admin}
	if err := c.Render(shell.WithViewer(context.Background(), viewer, now), &b); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	if bad := forbidden.FindString(html); bad != "" {
		t.Errorf("the page has %q", bad)
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		if seen[m[1]] {
			t.Errorf("two elements have the id %s", m[1])
		}
		seen[m[1]] = true
	}
	return html
}

func extreme() catalog.Template {
	return catalog.Template{Record: object.Record{ID: "tpl_1", Name: hostile + strings.Repeat("x", 255)},
		TemplateSpec: catalog.TemplateSpec{Playbook: hostile, Command: hostile, InventoryID: "inv_1", ProjectID: "prj_1",
			Controls: runs.Controls{Limit: hostile, Tags: []string{hostile}}, Queue: hostile, Change: hostile,
			AllowOverrides: catalog.Overridable(), RequireApproval: true, Steps: []runs.StepSpec{{Name: hostile}}}}
}

func TestHostileTexts(t *testing.T) {
	t.Parallel()
	run := &runs.Run{ID: "run_1", Name: hostile, Status: runs.Failed, Actor: actor.Actor{Name: hostile},
		CreatedAt: now.Add(-time.Hour), Spec: runs.Spec{Tool: hostile, Playbook: hostile, Command: hostile,
			Controls: runs.Controls{Limit: hostile, Tags: []string{hostile}}, Queue: hostile}}
	choices := []shell.Choice{{Value: hostile, Label: hostile}}
	found := reach{text: hostile, warnings: []string{hostile}, wrong: hostile, count: 5000, confirm: true,
		outlook: []outlook{{"hold", hostile}, {"hold", heldText}}}
	q := question{Var: "v", Type: catalog.ChoiceAnswer, Label: hostile, Help: hostile, Choices: []string{hostile}}
	v := &templateView{Template: extreme(), fields: []shell.FieldSpec{q.field(nil)}, credentials: choices,
		inventories: choices, place: hostile, project: hostile, from: run, reach: found, runs: []*runs.Run{run}}
	html := render(t, templatePage(v))
	for _, text := range []string{"Type 5000 to confirm", heldText, dryRunText, `name="_key"`} {
		if !strings.Contains(html, text) {
			t.Errorf("no %q", text)
		}
	}
	render(t, adhocPage(&adhocView{values: *run, vars: hostile, tools: choices, inventories: choices, projects: choices,
		credentials: choices, reach: found, redacted: true}))
	for _, a := range []*adviceview.Advice{nil, {Text: hostile, By: hostile}, {By: hostile},
		{Problem: &httpapi.Problem{Text: hostile}, Wait: 1}} {
		render(t, draftBox(a))
	}
	rows := []row{{Template: extreme(), pinned: true, last: []*runs.Run{run, run}, next: now.Add(time.Hour)}}
	html = render(t, listPage(listView{rows: rows, query: hostile, total: 1, all: 1, pinnable: true,
		older: "/ui/launch?from=50"}))
	if !strings.Contains(html, `aria-label="Failed, Failed"`) || !strings.Contains(html, ">Unpin<") {
		t.Error("the row lacks its outcomes or its pin")
	}
	render(t, listPage(listView{}))
}

// TestVerdictInWords: what policies and windows will do is told before the launch.
func TestVerdictInWords(t *testing.T) {
	t.Parallel()
	ctx := shell.WithViewer(t.Context(), shell.Viewer{}, now)
	closed := &policy.WindowRule{Name: "nights", Outside: policy.OutsideWait}
	for _, c := range []struct {
		of   policy.Verdict
		want []outlook
	}{
		{policy.Verdict{}, nil},
		{policy.Verdict{Denied: &policy.Rule{Name: "never", Message: "Ask first."}},
			[]outlook{{"deny", "It will be denied by never. Ask first."}}},
		{policy.Verdict{Holds: []runs.Hold{{Name: "second person"}}, Timing: policy.Timing{Closed: closed}},
			[]outlook{{"hold", "It will be held by second person."}, {"clock", "It will wait for the window nights."}}},
	} {
		if diff := cmp.Diff(c.want, verdictText(ctx, c.of)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestHeld checks that the newest run of a workflow tells that a policy may hold the next one.
func TestHeld(t *testing.T) {
	t.Parallel()
	holding := &runs.Run{Approvals: &runs.Approvals{Holds: []runs.Hold{{ID: "pol_1", Name: "Second person"}}}}
	dry, free := &runs.Run{Spec: runs.Spec{DryRun: true}}, &runs.Run{}
	for want, list := range map[string][]*runs.Run{
		"": {free, holding}, heldBefore("Second person"): {dry, holding, free},
	} {
		if got := (&templateView{runs: list}).heldBefore(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestLimits checks which hosts are selected by what was entered, and only where the template allows it.
func TestLimits(t *testing.T) {
	t.Parallel()
	v := &templateView{Template: catalog.Template{TemplateSpec: catalog.TemplateSpec{InventoryID: "inv_1",
		Controls: runs.Controls{Limit: "web"}, Playbook: "a.yml"}}}
	form := map[string][]string{"limit:text": {""}, "inventory_id": {"inv_2"}}
	if i, l := v.selected(form); i != "inv_1" || l != "web" {
		t.Errorf("%q %q where nothing may be overridden", i, l)
	}
	v.AllowOverrides = []string{"limit", "inventory_id"}
	if i, l := v.selected(form); i != "inv_2" || l != "" {
		t.Errorf("%q %q", i, l)
	}
	v.from = &runs.Run{Spec: runs.Spec{Controls: runs.Controls{Limit: "db"}}}
	if i, l := v.selected(nil); i != "inv_1" || l != "db" {
		t.Errorf("%q %q of an earlier run", i, l)
	}
	v.Tool = "bash"
	if i, _ := v.selected(form); i != "" {
		t.Errorf("a script has the inventory %q", i)
	}
}

// TestShapes checks that each state has a shape of its own.
func TestShapes(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, glyph := range []string{"done", "fail", "lost", "hold", "now", "wait"} {
		if other, taken := seen[shape(glyph)]; taken {
			t.Errorf("%s looks like %s", glyph, other)
		}
		seen[shape(glyph)] = glyph
	}
}
