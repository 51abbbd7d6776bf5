//go:build ui

package look

import (
	"testing"

	"github.com/writ-automation/writ/e2e/ui/browser"
)

// visible returns texts and glyphs that their background hides, by the colours that the browser computed.
const visible = `(() => {
	const colour = c => { const n = (c.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number); return n.length < 4 ? [...n, 1] : n; };
	const light = c => c.slice(0, 3).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
	const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((m, n) => n - m); return (x + .05) / (y + .05); };
	const back = e => {
		for (; e; e = e.parentElement) { const c = colour(getComputedStyle(e).backgroundColor); if (c[3] > .5) return c; }
		return colour(getComputedStyle(document.body).backgroundColor);
	};
	const shown = e => e.checkVisibility({opacityProperty: true, visibilityProperty: true}) && e.getClientRects().length > 0
		&& !e.closest('.vh, .skip, :disabled, [aria-disabled=true], [hidden]');
	const out = [];
	for (const e of document.querySelectorAll('body *')) {
		if (!shown(e) || e.matches('svg *:not(text), canvas')) continue;
		const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join('');
		const style = getComputedStyle(e);
		if (text) {
			const front = e.matches('text') ? style.fill : style.color;
			if (contrast(colour(front), back(e)) < 4.5)
				out.push(` + "`text \"${text.slice(0, 60)}\" is ${front} on ${back(e)}`" + `);
		}
		if (e.matches('svg.ico')) {
			const drawn = [...e.querySelectorAll('*')].map(x => x.matches('use') ? e : x).flatMap(x => {
				const s = getComputedStyle(x);
				return [s.fill, s.stroke].map(c => c === 'none' ? '' : c === 'currentcolor' ? s.color : c).concat(s.color);
			}).filter(c => c.startsWith('rgb') && colour(c)[3] > .1);
			const seen = drawn.some(c => contrast(colour(c), back(e.parentElement)) >= 3);
			if (!seen) out.push(` + "`glyph ${e.outerHTML.slice(0, 120)} on ${back(e.parentElement)}`" + `);
		}
	}
	return [...new Set(out)].slice(0, 8);
})()`

// canvases returns the canvases that are empty, or painted with colours that are not the reader's: those are black and
// white, whose mixtures at edges are grey.
const canvases = `(() => [...document.querySelectorAll('#matrix canvas')].filter(c => c.width && c.checkVisibility()).flatMap(c => {
	const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
	let marks = 0, alien = 0;
	for (let i = 0; i < d.length; i += 4) {
		if (Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 12) alien++;
		if (Math.abs(d[i] - d[0]) > 100) marks++;
	}
	const name = c.className || c.parentElement.className;
	return [marks < 50 && name + ' shows nothing', alien && name + ' has ' + alien + ' coloured pixels'].filter(Boolean);
}))()`

func shows(t *testing.T, p *browser.Page) {
	t.Helper()
	for _, v := range browser.Eval[[]string](p, visible) {
		t.Error(v)
	}
}

// TestForcedColors opens all pages in the reader's own colours: no text and no glyph disappears, and the matrix is
// painted with them.
func TestForcedColors(t *testing.T) {
	s := newSite(t)
	s.each(t, s.pages(), []int64{1280}, func(t *testing.T, p *browser.Page, name string) {
		shows(t, p)
		browser.Eval[bool](p, settled)
		for _, v := range browser.Eval[[]string](p, canvases) {
			t.Error(v)
		}
		p.Shot("forced-" + name)
	}, "forced-colors", "active")
}

// TestContrastAndMotion opens all pages for readers who ask for more contrast and less motion: texts are seen, lines
// are stronger than usual, and nothing moves.
func TestContrastAndMotion(t *testing.T) {
	s := newSite(t)
	s.each(t, s.pages(), []int64{1280}, func(t *testing.T, p *browser.Page, _ string) {
		shows(t, p)
		const moving = `document.getAnimations().filter(a => a.playState === 'running').map(a => a.effect.target.outerHTML.slice(0, 99))`
		for _, v := range browser.Eval[[]string](p, moving) {
			t.Errorf("it moves: %s", v)
		}
		const same = `(() => { const s = getComputedStyle(document.documentElement);
			return s.getPropertyValue('--line') !== s.getPropertyValue('--edge'); })()`
		if browser.Eval[bool](p, same) {
			t.Error("the lines are as faint as without the wish for contrast")
		}
	}, "prefers-contrast", "more", "prefers-reduced-motion", "reduce")
}
