//go:build ui

package look

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/e2e/ui/browser"
)

// act is a state of a page that only appears when somebody does something.
type act struct {
	page
	do func(p *browser.Page)
}

// lanes are the steps of a pipeline of 40 equal lanes and a chain after them.
func lanes() []harness.Body {
	step := func(name string, after ...string) harness.Body {
		return harness.Body{"name": name, "tool": "bash", "command": "echo " + name, "depends_on": after}
	}
	steps, tests := []harness.Body{step("checkout")}, []string(nil)
	for i := range 40 {
		build, test := fmt.Sprint("build-", i), fmt.Sprint("test-", i)
		steps, tests = append(steps, step(build, "checkout"), step(test, build)), append(tests, test)
	}
	steps = append(steps, step("package", tests...))
	for i, last := 0, "package"; i < 5; i++ {
		name := fmt.Sprint("region-", i)
		steps, last = append(steps, step(name, last)), name
	}
	return steps
}

// refused submits the form of an operation, and waits until the page says why it was refused.
func refused(operation, text string) func(p *browser.Page) {
	form := "form[data-operation=" + operation + "]"
	return func(p *browser.Page) {
		p.Allow("Failed to load resource")
		browser.Eval[any](p, "void document.querySelector('"+form+"').requestSubmit()")
		p.Wait("the refusal", fmt.Sprintf(`document.querySelector('%s [role=alert]')?.innerText.includes(%q) && %s`,
			form, text, complete))
	}
}

// key presses a key on an element until something has the focus: scripts may still be loading.
func key(p *browser.Page, on, event, focus string) {
	p.Wait("the focus of "+focus, fmt.Sprintf(`document.activeElement.matches('%s') ||
		(%s.dispatchEvent(new KeyboardEvent('keydown', {bubbles: true, cancelable: true, %s})), false)`, focus, on, event))
}

// acts makes the records of the states.
func (s *site) acts() []act {
	s.t.Helper()
	asks := s.made("/v1/templates", harness.Body{"name": "Release", "tool": "bash", "command": "true",
		"survey": []harness.Body{{"var": "release", "type": "text", "label": "Release", "required": true}}})
	for i := range 8 {
		s.made("/v1/runs", harness.Body{"name": fmt.Sprint("Release ", i), "tool": "bash", "command": "true"})
	}
	steps := "runs/" + s.made("/v1/pipelines", harness.Body{"name": "Release shop", "steps": lanes()}) + "/steps"
	palette := func(word string) func(p *browser.Page) {
		return func(p *browser.Page) {
			key(p, "document", "key: 'k', ctrlKey: true", ".pal input")
			p.Press(word)
			p.Wait("what is found", fmt.Sprintf(`(() => { const l = [...document.querySelectorAll('.pal li')];
				return l.every(x => x.innerText.includes(%q)) && document.querySelector('.pal footer').innerText; })()`, word))
		}
	}
	return []act{
		{page{"palette", "runs"}, palette("Release")}, {page{"palette-nothing", "runs"}, palette("xyzzy")},
		{page{"form-errors", "objects/templates/new"}, refused("create-template", "name")},
		{page{"launch-errors", "launch/" + asks}, refused("launch-template", "release")},
		{page{"steps-folded", steps}, func(*browser.Page) {}},
		{page{"steps-unfolded", steps}, func(p *browser.Page) {
			key(p, "document.querySelector('.dag')", "key: 'ArrowRight'", ".dag .node")
			p.Press(kb.ArrowRight + kb.Enter)
			p.Wait("the builds have boxes of their own", `document.querySelectorAll('.dag .node').length === 43 && `+complete)
			browser.Eval[any](p, "void scrollTo(0, 0)") // what the head covers counts as too small a target
		}},
	}
}

// check looks at a state with axe, and at 320 pixels.
func (s *site) check(t *testing.T, a act) {
	t.Helper()
	s.each(t, []page{a.page}, []int64{1280, 360}, func(t *testing.T, p *browser.Page, name string) {
		a.do(p)
		accessible(t, p, name)
	})
	s.each(t, []page{a.page}, []int64{320}, func(t *testing.T, p *browser.Page, name string) {
		a.do(p)
		reflows(t, p, name)
	})
}

// TestActs checks what the palette, refused forms and large graphs look like.
func TestActs(t *testing.T) {
	s := own(t, "--executors", "0")
	for _, a := range s.acts() {
		s.check(t, a)
	}
}

// TestWithoutTrail checks the page of a change that is refused since its entry cannot be written.
func TestWithoutTrail(t *testing.T) {
	server := harness.Start(t, harness.Options{Flags: []string{"--executors", "0"}})
	s := &site{Client: server.Client, t: t}
	template := s.made("/v1/templates", harness.Body{"name": "Restart", "tool": "bash", "command": "true"})
	server.Alter("ALTER TABLE audit_entries RENAME TO audit_gone")
	if a := s.Do(http.MethodPost, "/v1/templates/"+template+"/launch", nil); a.Status != http.StatusServiceUnavailable {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	s.check(t, act{page{"no-trail", "launch/" + template}, refused("launch-template", "nothing was changed")})
}
