//go:build ui

package look

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/writ-automation/writ/e2e/ui/browser"
)

// walk is a person with a keyboard and nothing else. After each key the focus has to be somewhere, to be seen, and not
// to be behind something.
type walk struct {
	*browser.Page
	t *testing.T
}

// lost says what is wrong with the focus. A grid shows its own cursor, and a field shows it around itself.
const lost = `(() => {
	const e = document.activeElement;
	if (!e || e === document.body || e === document.documentElement) return 'nothing has the focus';
	const name = e.outerHTML.slice(0, 140), style = getComputedStyle(e), field = e.closest('.field');
	if (!e.matches(':focus-visible')) return 'the focus is not shown on ' + name;
	const marked = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
		|| field && getComputedStyle(field).boxShadow !== 'none';
	if (!marked) return 'no outline around ' + name;
	const r = e.getBoundingClientRect(), right = Math.min(r.right, innerWidth), bottom = Math.min(r.bottom, innerHeight);
	const left = Math.max(0, r.left), top = Math.max(0, r.top);
	for (const [x, y] of [[.5, .5], [.1, .5], [.9, .5], [.5, .15], [.5, .85]]) {
		const hit = document.elementFromPoint(left + (right - left) * x, top + (bottom - top) * y);
		if (hit && (e.contains(hit) || hit.contains(e))) return '';
	}
	return 'something is in front of ' + name + ' at ' + [r.left, r.top, r.right, r.bottom].map(Math.round);
})()`

// named is the name of what has the focus.
const named = `(() => {
	const e = document.activeElement;
	return (e.getAttribute('aria-label') || e.labels?.[0]?.innerText || e.innerText || e.value || '').replace(/\s+/g, ' ').trim();
})()`

// settled waits until the page has answered to a key.
const settled = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`

// check fails if the focus is lost.
func (w walk) check() {
	w.t.Helper()
	browser.Eval[bool](w.Page, settled)
	if wrong := browser.Eval[string](w.Page, lost); wrong != "" {
		w.Shot("lost-" + strings.ReplaceAll(w.t.Name(), "/", "-"))
		w.t.Fatal(wrong)
	}
}

// key presses keys that stay on the page.
func (w walk) key(keys string) { w.t.Helper(); w.Press(keys); w.check() }

// palette opens the palette.
func (w walk) palette() {
	w.t.Helper()
	w.Do("press Ctrl K", chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	w.check()
}

// to moves the focus by the tab key until something of this name has it.
func (w walk) to(name string) {
	w.t.Helper()
	var seen []string
	for range 150 {
		w.Press("\t")
		browser.Eval[bool](w.Page, settled)
		if browser.Eval[bool](w.Page, "document.activeElement === document.body") { // the end of the page
			continue
		}
		w.check()
		got := browser.Eval[string](w.Page, named)
		if strings.HasPrefix(got, name) {
			return
		}
		seen = append(seen, got)
	}
	w.t.Fatalf("the tab key does not reach %q, but %q", name, seen)
}

// opens presses Enter, which leads to a page.
func (w walk) opens(path string) { w.t.Helper(); w.Press("\r"); w.at(path) }

// at waits for a page.
func (w walk) at(path string) {
	w.t.Helper()
	w.Wait("the page "+path, fmt.Sprintf("location.pathname.startsWith(%q) && ", path)+complete)
}

// value is what the field that has the focus holds.
func (w walk) value(want string) {
	w.t.Helper()
	if got := browser.Eval[string](w.Page, "document.activeElement.value ?? 'no field'"); got != want {
		w.t.Errorf("the field holds %q, not %q", got, want)
	}
}
