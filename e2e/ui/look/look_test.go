//go:build ui

package look

import (
	_ "embed"
	"testing"

	"github.com/writ-automation/writ/e2e/ui/browser"
)

// axe is axe-core 4.14.1, which has the Mozilla Public License 2.0.
//
//go:embed testdata/axe/axe.min.js
var axe string

// check returns what breaks a rule of WCAG 2.2 AA or good practice.
const check = `(async () => {
	const r = await axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
		resultTypes: ['violations']});
	return r.violations.map(v => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 4).map(n => n.target.join(' ') + ' ' +
		n.html.slice(0, 160) + ' ' + n.any.concat(n.all, n.none).map(x => x.message).join('; ')).join(' | '));
})()`

// TestAccessible checks all pages with axe, in both themes, on a desk and on a phone.
func TestAccessible(t *testing.T) {
	eachPage(t, []int64{1280, 360}, accessible)
}

func accessible(t *testing.T, p *browser.Page, name string) {
	browser.Eval[any](p, "void (() => {"+axe+"\n})()")
	for _, v := range browser.Eval[[]string](p, check) {
		t.Error(v)
	}
	p.Shot(name)
}

// TestReflow opens all pages at 320 pixels, which is 400 % of 1280: nothing scrolls sideways but what is excepted.
func TestReflow(t *testing.T) {
	eachPage(t, []int64{320}, reflows)
}

func reflows(t *testing.T, p *browser.Page, name string) {
	p.Shot(name)
	if wide := browser.Eval[int64](p, "document.documentElement.scrollWidth"); wide > 320 {
		t.Errorf("the page is %d wide: %s", wide, browser.Eval[[]string](p, `[...document.querySelectorAll('main *')]
			.filter(e => e.getBoundingClientRect().right > 321 && !e.closest('.mx, .log, .graph, .dag'))
			.slice(0, 5).map(e => e.outerHTML.slice(0, 160))`))
	}
}

// TestScreenshots takes a picture of each page at three widths in both themes (WRIT_TEST_SHOTS names the folder).
func TestScreenshots(t *testing.T) {
	eachPage(t, []int64{360, 1280, 2560}, func(_ *testing.T, p *browser.Page, name string) { p.Shot(name) })
}
