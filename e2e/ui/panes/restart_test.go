package panes

import (
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/e2e/ui/browser"
)

// TestStreamResumes kills the server while the page follows a run, and starts it again: no line and no cell is missing
// and none comes twice.
func TestStreamResumes(t *testing.T) {
	t.Parallel()
	w := newRunRig(t)
	g := w.claim(harness.Body{"playbook": "site.yml"})
	g.print(numbered(1, 500))
	g.events(started("first", 1), result("host_ok", "web-1", "first", 1), result("host_failed", "web-2", "first", 1))
	p := w.ready(browser.Start(t), g.id)
	p.Allow("502")
	p.Allow("ERR_")
	p.Allow("Failed to fetch")
	follows(p, true)
	g.print(numbered(501, 500))
	p.Wait("1,000 lines are there", hasLines(1000))
	w.restart()
	g.print(numbered(1001, 2000))
	g.events(started("second", 2), result("host_ok", "web-1", "second", 2), result("host_ok", "web-3", "second", 2))
	p.Wait("the lines after the restart are there", hasLines(3000))
	p.Wait("the cells after the restart are there", cell("web-3", 1)+" === 1")
	g.print(numbered(3001, 10))
	g.end("failed")
	checkLines(t, p, 3010)
	checkMatrix(t, w, p, g.id)
	if note := browser.Eval[bool](p, "document.querySelector('[data-live-note]').hidden"); !note {
		t.Error("the page still says that updates are paused")
	}
}
