package panes

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/e2e/ui/browser"
)

// pick chooses an option of a list.
func pick(p *browser.Page, selector, value string) {
	browser.Eval[bool](p, fmt.Sprintf(`(s => {
		s.value = %q;
		return s.dispatchEvent(new Event('change', {bubbles: true}));
	})(document.querySelector(%q))`, value, selector))
}

// TestMatrixFollowsARun reports results while the matrix is shown: cells change at once, rows only when asked.
func TestMatrixFollowsARun(t *testing.T) {
	t.Parallel()
	w := newRunRig(t)
	g := w.claim(harness.Body{"playbook": "site.yml"})
	list := []harness.Body{started("first", 1)}
	for h := range 8 {
		list = append(list, result("host_ok", fmt.Sprintf("web-%d", h+1), "first", 1))
	}
	g.events(list...)
	p := w.ready(browser.Start(t), g.id)
	p.Wait("the matrix is ready", "document.querySelector('#matrix').dataset.ready !== undefined")
	rows := func() string {
		return fromMatrix[string](p, "m.rows.map(r => m.grid.names[r.h]).join(' ')")
	}
	if order := browser.Eval[string](p, "document.querySelector('[data-order]').value"); order != "listed" {
		t.Errorf("a run that runs is ordered %s", order)
	}
	listed := rows()
	pick(p, "[data-order]", "worst")
	g.events(started("second", 2), result("host_failed", "web-5", "second", 2), result("host_ok", "web-9", "first", 1),
		result("host_unreachable", "web-7", "second", 2))
	p.Wait("the cells came", cell("web-7", 1)+" === 5")
	if text := p.Text("[data-resort]"); text != "Re-sort, 3 hosts changed" {
		t.Errorf("the button says %q", text)
	}
	if now := rows(); now != listed {
		t.Errorf("the rows moved to %s", now)
	}
	p.Click("[data-resort]")
	if now, want := rows(), "web-5 web-7 web-1 web-2 web-3 web-4 web-6 web-8 web-9"; now != want {
		t.Errorf("the rows are %s, want %s", now, want)
	}
	p.Wait("the message came with the event",
		matrix("m.grid.message(m.grid.host('web-5'))")+" === 'no space left on web-5'")
	if browser.Eval[bool](p, "!document.querySelector('[data-resort]').hidden") {
		t.Error("the button stays")
	}
	p.Click("[data-chips] [data-only='4']")
	if now := rows(); now != "web-5" {
		t.Errorf("the failed hosts are %s", now)
	}
	p.Click("[data-chips] [data-only='4']")
	p.Type("[data-hosts]", "B-7")
	p.Wait("the host is found",
		matrix("m.rows.map(r => m.grid.names[r.h]).join()")+" === 'web-7'")
	g.end("failed")
	p.Wait("the run has ended", matrix("m.live")+" === false")
	checkMatrix(t, w, p, g.id)
}

// TestDivider moves the divider by keys and by mouse, and finds it in its place again.
func TestDivider(t *testing.T) {
	t.Parallel()
	w := newRunRig(t)
	id := w.fleetRun(5, 3)
	p := w.ready(browser.Start(t), id)
	place := func() string {
		return browser.Eval[string](p, "document.querySelector('.divider').getAttribute('aria-valuenow')")
	}
	height := func() float64 { return browser.Eval[float64](p, "document.querySelector('#matrix').clientHeight") }
	before := height()
	focus(p, ".divider")
	p.Press(kb.ArrowUp)
	p.Press(kb.ArrowUp)
	if now := place(); now != "55" || height() >= before {
		t.Errorf("after two keys the place is %s, and the height %v of %v", now, height(), before)
	}
	p.Open("/ui/runs/" + id)
	p.Wait("the place is kept", "document.querySelector('.divider').getAttribute('aria-valuenow') === '55'")
	browser.Eval[bool](p, "document.querySelector('.divider').dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))")
	if now := place(); now != "63" {
		t.Errorf("a double click leads to %s", now)
	}
	p.Size(1900, 900)
	p.Wait("the panes stand beside each other",
		"document.querySelector('.divider').getAttribute('aria-orientation') === 'vertical'")
	if browser.Eval[bool](p, "document.querySelector('#log').getBoundingClientRect().left < 500") {
		t.Error("the log is not beside the matrix")
	}
}

// TestPanesInEachLook opens the panes in each theme and size, and in forced colours: nothing is reported, the page does
// not scroll sideways, and the canvas has what it paints.
func TestPanesInEachLook(t *testing.T) {
	t.Parallel()
	w := newRunRig(t)
	id := w.fleetRun(60, 9)
	b := browser.Start(t)
	for _, size := range [][2]int64{{360, 740}, {1280, 900}, {2560, 1300}} {
		for _, look := range [][2]string{{"prefers-color-scheme", "light"}, {"prefers-color-scheme", "dark"},
			{"forced-colors", "active"}} {
			p := b.Page(w.origin(), w.Token)
			p.Size(size[0], size[1])
			p.Media(look[0], look[1])
			p.Open("/ui/runs/" + id + "#L5")
			p.Wait("the panes are ready", "document.querySelectorAll('[data-ready]').length === 2")
			name := fmt.Sprintf("panes-%d-%s", size[0], look[1])
			if wide := browser.Eval[int64](p, "document.documentElement.scrollWidth"); wide > size[0] {
				t.Errorf("%s is %d wide", name, wide)
			}
			colours := fromMatrix[int](p, `(() => {
				const d = m.g.getImageData(0, 0, m.canvas.width, m.canvas.height).data;
				const seen = new Set();
				for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
				return seen.size;
			})()`)
			if colours < 2 {
				t.Errorf("the canvas of %s has %d colours", name, colours)
			}
			p.Shot(name)
		}
	}
}
