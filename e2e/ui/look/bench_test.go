//go:build ui

package look

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/ui/browser"
)

// loaded is what a page took, in bytes as they were sent and in milliseconds.
type loaded struct {
	HTML, JS, CSS, Others int
	FirstPaint, Ready     float64
}

const measurePage = `(() => {
	const list = performance.getEntriesByType('resource'), r = x => Math.round(x * 10) / 10;
	const sum = end => list.filter(e => new URL(e.name).pathname.endsWith(end)).reduce((n, e) => n + e.encodedBodySize, 0);
	return JSON.stringify({HTML: performance.getEntriesByType('navigation')[0].encodedBodySize, JS: sum('.js'), CSS: sum('.css'),
		Others: list.filter(e => /\.(woff2?|ttf|otf|png|jpe?g|gif|webp)$/.test(new URL(e.name).pathname)).length,
		FirstPaint: r(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1), Ready: r(performance.now())});
})()`

// measurePanes measures a paint of the matrix while it scrolls, and a search of the log.
const measurePanes = `(async () => {
	const base = document.querySelector('script[src$="boot.js"]').src.replace('boot.js', '');
	const {viewOf} = await import(base + 'matrix.js'), {paint, paintStrip} = await import(base + 'matrix-paint.js');
	const m = viewOf(document.querySelector('#matrix')), times = [];
	for (let i = 0; i < 300; i++) {
		m.box.scrollTop = i / 300 * m.rows.length * m.rowH;
		const at = performance.now();
		paint(m); paintStrip(m);
		times.push(performance.now() - at);
		if (i % 10 === 0) await new Promise(requestAnimationFrame);
	}
	times.sort((a, b) => a - b);
	const at = performance.now();
	const found = await (await fetch('/v1/runs/' + m.id + '/logs/find?q=changed&limit=1000')).json();
	const ms = x => x.toFixed(1);
	return m.grid.H + ' hosts x ' + m.grid.T + ' tasks: paint p50 ' + ms(times[150]) + ' ms, p99 ' + ms(times[296]) +
		' ms; find in the log ' + ms(performance.now() - at) + ' ms, ' + (found.total ?? found.count ?? 0) + ' places';
})()`

// TestBudgets prints what pages take, and fails on bytes and on counts: times depend on the machine.
func TestBudgets(t *testing.T) {
	s := newSite(t)
	b := browser.Start(t)
	const kb = 1 << 10
	run := s.run("name", "Patch web fleet")
	var rows strings.Builder
	for _, one := range []struct {
		name, path   string
		html, js, px int
	}{
		{"overview", "", 20 * kb, 35 * kb, 1280}, {"runs", "runs", 12 * kb, 35 * kb, 1280},
		{"approval", "approvals/" + s.run("status", "pending_approval"), 20 * kb, 35 * kb, 360},
		{"run", "runs/" + run, 20 * kb, 60 * kb, 2560},
	} {
		p := s.open(b.For(t), int64(one.px), 1300, one.path)
		var got loaded
		if err := json.Unmarshal([]byte(browser.Eval[string](p, measurePage)), &got); err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(&rows, "%-9s HTML %5.1f KB, scripts %5.1f KB, style %5.1f KB, "+
			"first paint %5.0f ms, complete %5.0f ms\n",
			one.name, float64(got.HTML)/kb, float64(got.JS)/kb, float64(got.CSS)/kb, got.FirstPaint, got.Ready)
		if got.HTML > one.html || got.JS > one.js || got.CSS > 30*kb || got.Others > 0 || got.HTML*got.JS*got.CSS == 0 {
			t.Errorf("%s is beyond its budget: %+v", one.name, got)
		}
		if one.name == "run" {
			rows.WriteString(browser.Eval[string](p, measurePanes))
		}
	}
	t.Logf("as sent:\n%s", rows.String())
}
