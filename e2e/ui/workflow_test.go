package ui

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/e2e/ui/browser"
)

// flowPage is the editor of a workflow in a browser, used by keys alone.
type flowPage struct {
	*browser.Page
	t *testing.T
}

// openFlow opens a page with the editor, and waits until it has read the steps.
func openFlow(t *testing.T, p *browser.Page, at string) flowPage {
	t.Helper()
	p.Open(at)
	f := flowPage{p, t}
	f.started()
	return f
}

func (f flowPage) started() {
	f.t.Helper()
	f.Wait("the editor has read the steps", "document.querySelector('.flow')?.dataset.started !== undefined")
}

// tab presses Tab until an element has the focus.
func (f flowPage) tab(selector string) {
	f.t.Helper()
	for range 120 {
		f.Press(kb.Tab)
		if browser.Eval[bool](f.Page, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
			return
		}
	}
	f.t.Fatalf("Tab does not reach %s", selector)
}

// chosen waits until a step is chosen and the graph has the focus.
func (f flowPage) chosen(name string) {
	f.t.Helper()
	f.Wait("the step "+name+" is chosen", fmt.Sprintf(`(() => {
		const tree = document.querySelector('[role=tree]');
		const item = document.getElementById(tree.getAttribute('aria-activedescendant'));
		return document.activeElement === tree && item?.dataset.name === %q;
	})()`, name))
}

// named gives the chosen step a name.
func (f flowPage) named(name string) {
	f.t.Helper()
	f.Press(kb.F2 + name + kb.Enter)
	f.chosen(name)
}

func (f flowPage) says(text string) {
	f.t.Helper()
	f.Wait("the editor says "+text, fmt.Sprintf("document.querySelector('[data-note]')?.textContent.includes(%q)", text))
}

func (f flowPage) save() {
	f.t.Helper()
	browser.Eval[bool](f.Page, `document.activeElement.dispatchEvent(new KeyboardEvent('keydown',
		{key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true}))`)
}

// storedStep is a step as the API shows it.
type storedStep struct {
	Name, Tool, Command, On string
	After                   []string `json:"depends_on"`
	Retries                 int
}

func storedSteps(t *testing.T, c harness.Client, id string) string {
	t.Helper()
	var stored struct{ Steps []storedStep }
	c.Do(http.MethodGet, "/v1/templates/"+id, nil).JSON(t, &stored)
	var out []string
	for _, s := range stored.Steps {
		out = append(out, fmt.Sprintf("%s %s %q %v %s %d", s.Name, s.Tool, s.Command, s.After, s.On, s.Retries))
	}
	return strings.Join(out, "\n")
}

// TestWorkflowByKeys builds a workflow of five steps by keys alone: a circle is refused at once, unsaved steps survive
// a reload, the refusal of the server is at its step, and what is saved is what the API has.
func TestWorkflowByKeys(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	f := openFlow(t, browser.Start(t).Page(r.URL, r.Token), "/ui/objects/templates/new?name=Release")
	f.tab("details:has(.flow) > summary")
	f.Press(kb.Enter)
	f.tab("[data-do=add]")
	f.Press(kb.Enter)
	f.chosen("step 1")
	f.named("build")
	f.Press(kb.Enter)
	f.tab("[id='f-_step-tool']")
	f.Press("bash" + kb.Enter)
	f.chosen("build")
	f.Press("a")
	f.chosen("step 2")
	f.named("canary")
	f.Press("i")
	f.chosen("step 3")
	f.named("test")
	f.Press(kb.ArrowRight)
	f.chosen("canary")
	f.Press("a")
	f.named("roll out")
	f.Press(kb.ArrowLeft)
	f.chosen("canary")
	f.Press("a")
	f.named("roll back")

	f.Press(kb.ArrowLeft + "c" + kb.ArrowLeft + kb.ArrowLeft + kb.Enter)
	f.says("would run in a circle: build → test → canary → build")
	f.chosen("build")
	f.Press("c" + kb.ArrowRight + kb.ArrowRight + kb.Enter)
	f.says("canary runs after build now")
	f.Press("c" + kb.ArrowLeft + "c" + "u")
	f.says("Undone")

	browser.Eval[any](f.Page, "void (delete document.querySelector('.flow').dataset.started, location.reload())")
	f.started()
	f.says("Your unsaved changes are here again")
	if got := f.Text("[data-changes]"); !strings.Contains(got, "Added: roll back") {
		t.Errorf("the changes are %q", got)
	}
	f.Allow("400 (Bad Request)")
	f.save()
	f.Wait("the server refuses", "document.querySelector('.flow')?.dataset.refused !== undefined")
	f.started()
	if got := f.Text("[data-problems-list]"); !strings.Contains(got, "Step 1, build, line 1:") {
		t.Errorf("the problems are %q", got)
	}
	f.tab("[role=tree]")
	for _, name := range []string{"build", "test", "canary", "roll back", "roll out"} {
		f.chosen(name)
		f.Press(kb.Enter)
		f.tab("[id='f-_step-command']")
		f.Press("echo " + name + kb.Escape)
		f.chosen(name)
		f.Press(map[bool]string{true: kb.ArrowDown, false: kb.ArrowRight}[name == "roll back"])
	}
	f.Press(kb.ArrowUp + kb.Enter)
	f.tab("[id='f-_step-on']")
	f.Press(kb.ArrowDown + kb.Escape)
	f.chosen("roll back")
	f.save()
	f.Wait("the template is saved", "location.pathname.startsWith('/ui/launch/tpl_')")
	id := browser.Eval[string](f.Page, "location.pathname.split('/').at(-1)")
	want := `build bash "echo build" []  0
test bash "echo test" [build]  0
canary bash "echo canary" [test]  0
roll back bash "echo roll back" [canary] failure 0
roll out bash "echo roll out" [canary]  0`
	if got := storedSteps(t, r.Client, id); got != want {
		t.Errorf("stored:\n%s", got)
	}
	openFlow(t, f.Page, "/ui/objects/templates/new?name=Release")
	if !browser.Eval[bool](f.Page, "document.querySelector('.flow textarea').value === '' && localStorage.length === 0") {
		t.Error("saved steps are kept")
	}
}

// TestWorkflowWithoutScript writes a workflow as YAML without script: what is wrong is said with its
// line and at its step.
func TestWorkflowWithoutScript(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	form := hiddenOf(settingsPage(t, r.Client, "/ui/objects/templates/new", http.StatusOK))
	form.Set("name", "Release")
	const steps = "# of the shop\n- name: build\n  tool: bash\n  command: |\n    set -e\n    echo \"<b>\"\n" +
		"- {name: test, tool: bash, command: echo test, depends_on: [build], on: always, retries: 2}\n"
	for text, want := range map[string]string{
		steps + "- name: x: y\n": "line 8: mapping values", steps + "- *x\n": "unknown anchor",
		steps + "---\n[]\n": "more than one",
		strings.Replace(steps, "tool: bash", "tool: bash\n  depends_on: [test]", 1): "the steps form a cycle: build -",
		steps + "- {name: z, tool: bash, command: x, depends_on: [tset]}\n":         "Step 3, z, line 8: no step is named",
		steps + "- {name: z, tool: bash, command: x, depend_on: [test]}\n":          "Step 3, z, line 8: unknown field",
	} {
		form.Set("steps:yaml", text)
		refused := submitForm(r.Client, "create-template", "", form)
		if refused.Status != http.StatusBadRequest {
			t.Errorf("%q: %d", text, refused.Status)
		}
		contains(t, string(refused.Body), want, `href="#f-steps-yaml"`)
	}
	form.Set("steps:yaml", strings.ReplaceAll(steps, "\n", "\r\n"))
	made := submitForm(r.Client, "create-template", "", form)
	id := path.Base(made.Header.Get("Location"))
	want := "build bash \"set -e\\necho \\\"<b>\\\"\\n\" []  0\ntest bash \"echo test\" [build] always 2"
	if got := storedSteps(t, r.Client, id); got != want {
		t.Errorf("stored: %s (%d %s)", got, made.Status, made.Body)
	}
	html := settingsPage(t, r.Client, "/ui/objects/templates/"+id+"/edit", http.StatusOK)
	contains(t, html, "- name: build\n  tool: bash\n  command: |\n    set -e\n    echo &#34;&lt;b&gt;&#34;\n",
		"depends_on: [build]")
	read := r.Do(http.MethodPost, "/ui/objects/steps", url.Values{"text": {steps}}.Encode(), "Content-Type", formType,
		"Sec-Fetch-Site", "same-origin")
	contains(t, string(read.Body), `"lines":[2,7]`, `"depends_on":["build"]`)
}
