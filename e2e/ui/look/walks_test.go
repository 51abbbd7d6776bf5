//go:build ui

package look

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/e2e/ui/browser"
)

// walks opens a page for somebody with a keyboard.
func (s *site) walks(t *testing.T, width int64, path string) walk {
	t.Helper()
	return walk{s.open(browser.Start(t), width, 900, path, "prefers-color-scheme", "light"), t}
}

// TestWalkLaunch signs in, launches a template from its survey, follows the log, finds in it, and runs the failed run
// again.
func TestWalkLaunch(t *testing.T) {
	s := own(t)
	template := s.made("/v1/templates", harness.Body{"name": "Release", "tool": "bash",
		"command": "for i in $(seq 300); do echo line $i; done; echo a needle; exit 3",
		"survey":  []harness.Body{{"var": "release", "type": "text", "label": "Release", "required": true}}})
	token := s.Token
	s.Token = ""
	w := s.walks(t, 1280, "launch/"+template)
	w.at("/ui/login")
	w.to("No password yet")
	w.key("\r")
	w.to("Token")
	w.key(token)
	w.opens("/ui/launch/" + template)
	w.to("Release")
	w.key("v1 glx?")
	w.value("v1 glx?")
	w.to("Launch")
	w.opens("/ui/runs/run_")
	first := browser.Eval[string](w.Page, "location.pathname")
	w.Wait("the run fails", `document.querySelector('#rhead')?.dataset.status === 'failed'`)
	w.Wait("the log follows to its end", `document.querySelector('#log')?.innerText.includes('a needle') && `+complete)
	w.key("f")
	w.value("")
	w.key("line 12")
	w.value("line 12")
	w.Wait("the places are counted", `/1[ 01]/.test(document.querySelector('[data-found]').textContent)`)
	w.key("\r")
	w.Wait("the first place is shown", `document.querySelector('.ln.hit mark')?.textContent === 'line 12'`)
	w.key(kb.Escape)
	w.to("Rerun")
	w.key("\r") // opens a sheet, and does not press what has the focus there
	if got := browser.Eval[string](w.Page, named); got != "Run again" {
		t.Errorf("%q has the focus in the sheet", got)
	}
	w.Press("\r")
	w.Wait("another run", "location.pathname.startsWith('/ui/runs/run_') && location.pathname !== '"+first+
		"' && "+complete)
}

// TestWalkApprovals approves and rejects on a phone.
func TestWalkApprovals(t *testing.T) {
	s := own(t, "--executors", "0")
	for _, name := range []string{"Rotate", "Reboot"} {
		s.made("/v1/runs", harness.Body{"name": name, "tool": "bash", "command": "true", "require_approval": true})
	}
	w := s.walks(t, 360, "approvals")
	w.to("Rotate")
	w.opens("/ui/approvals/run_")
	w.key("a")
	w.value("")
	w.key(kb.Escape)
	w.Wait("the focus is back", `document.activeElement.matches('[data-sheet=approve]')`)
	w.key("a")
	w.key("Checked, a and r")
	w.value("Checked, a and r")
	w.to("Approve")
	w.Press("\r")
	w.Wait("it is approved", `document.body?.innerText.includes('approved it: Checked, a and r')`)

	w.Open("/ui/approvals")
	w.Wait("the list", complete)
	w.to("Reboot")
	w.opens("/ui/approvals/run_")
	w.key("r")
	w.value("")
	w.key("Not today")
	w.to("Reject")
	w.Press("\r")
	w.Wait("it is rejected", `document.body?.innerText.includes('rejected it: Not today')`)
}

// TestWalkPolicy tries a policy on the runs of the last days.
func TestWalkPolicy(t *testing.T) {
	s := own(t, "--executors", "0")
	s.made("/v1/policies", harness.Body{"name": "Second person", "enabled": true, "effect": "require_approval",
		"match": harness.Body{"tools": []string{"bash"}}})
	s.made("/v1/runs", harness.Body{"name": "Rotate", "tool": "bash", "command": "true"})
	w := s.walks(t, 1280, "trust/policies")
	w.to("Second person")
	w.opens("/ui/trust/policies/pol_")
	w.to("Try it")
	w.Press("\r")
	w.Wait("what it would have done", `document.querySelector('#trial [role=status]')`)
	w.check()
}

// TestWalkPalette reaches a run, a host and a template by the palette.
func TestWalkPalette(t *testing.T) {
	s := newSite(t)
	w := s.walks(t, 1280, "")
	w.to("Runs")
	w.palette()
	w.key(kb.Escape)
	w.Wait("the focus is back", `document.activeElement.matches('.nav a')`)
	for _, to := range [][2]string{{"Rotate certificates", "/ui/runs/"}, {s.list("/v1/fleet?limit=1", "hosts", "host")[0],
		"/ui/fleet/"}, {"Deploy api", "/ui/launch/"}} {
		w.palette()
		w.key(to[0])
		w.Wait("matches", `document.querySelector('.pal [role=option]')?.innerText.includes('`+to[0]+`')`)
		for range 12 {
			if browser.Eval[bool](w.Page, `/(`+kindOf(to[1])+`)/i.test(document.querySelector('.pal footer').textContent)`) {
				break
			}
			w.key(kb.ArrowDown)
		}
		w.opens(to[1])
	}
}

// kindOf is how the palette calls what an address leads to.
func kindOf(path string) string {
	return map[string]string{"/ui/runs/": "\\(run", "/ui/fleet/": "\\(host", "/ui/launch/": "\\(template"}[path]
}

// TestWalkMatrix goes from a cell to its details, to its line in the log, and back.
func TestWalkMatrix(t *testing.T) {
	s := newSite(t)
	w := s.walks(t, 1280, "runs/"+s.run("name", "Baseline, dry run"))
	w.to("Hosts by tasks")
	w.key(kb.ArrowDown)
	w.key(kb.ArrowRight)
	w.key("n")
	w.Wait("the cell is named", `document.querySelector('[data-readout]').innerText.length > 20`)
	cell := browser.Eval[string](w.Page, "document.activeElement.getAttribute('aria-activedescendant')")
	w.key("\r")
	w.Wait("the details", `document.querySelector('#cell h2')`)
	w.check()
	w.to("Show in log")
	w.key("\r")
	w.Wait("the line is marked", `/^#L\d+/.test(location.hash)`)
	w.key(kb.Escape)
	if back := browser.Eval[string](w.Page, "document.activeElement.getAttribute('aria-activedescendant')"); back != cell {
		t.Errorf("the focus is at the cell %q, not %q", back, cell)
	}
}

// TestWalkKeys checks that letters are keys, but neither in fields nor when the account switches them off.
func TestWalkKeys(t *testing.T) {
	s := own(t, "--executors", "0")
	w := s.walks(t, 1280, "runs")
	w.Press("/")
	w.check()
	w.key("gl?/x")
	w.value("gl?/x")
	w.Open("/ui/runs")
	w.Wait("the list", complete)
	w.Press("gl")
	w.at("/ui/launch")
	w.Press("?")
	w.Wait("the keys", "document.querySelector('dialog[open] kbd')")
	w.check()
	w.key(kb.Escape)

	w.Open("/ui/account")
	w.Wait("the account", complete)
	w.to("on")
	w.key(kb.ArrowRight)
	w.to("Save")
	w.Press("\r")
	w.Wait("they are off", "document.documentElement?.dataset.keys === 'off' && "+complete)
	w.Press("gl?")
	browser.Eval[bool](w.Page, settled)
	if browser.Eval[bool](w.Page, "location.pathname !== '/ui/account' || "+
		"Boolean(document.querySelector('dialog[open]'))") {
		t.Error("letters are keys though they are switched off")
	}
}
