package panes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/e2e/ui/browser"
	"github.com/writ-automation/writ/ports/depthtest"
)

var script = harness.Body{"tool": "bash", "command": "true"}

// module is an expression that imports a module of the page.
func module(name string) string {
	return fmt.Sprintf("import(document.querySelector('script[type=module]').src.replace('boot.js', %q))", name)
}

// logView gives the view of the page's log as v to an expression.
func logView(expression string) string {
	return fmt.Sprintf("%s.then(m => { const v = m.viewOf(document.querySelector('#log')); return %s; })",
		module("log.js"), expression)
}

// ready opens the panes of a run and waits until its scripts have started.
func (w *runRig) ready(b *browser.Browser, id string) *browser.Page {
	w.t.Helper()
	p := b.Page(w.origin(), w.Token)
	p.Open("/ui/runs/" + id)
	p.Wait("the log is ready", "document.querySelector('#log').dataset.ready !== undefined")
	return p
}

// TestLogIsInert shows output with sequences of terminals, links, marks of direction and controls: all of it is text.
func TestLogIsInert(t *testing.T) {
	t.Parallel()
	w := newRunRig(t)
	g := w.claim(script)
	g.print("\x1b[31mred\x1b[0m and \x1b[1;38;5;33mblue\x1b[0m and \x1b[48;2;200;30;20mground\x1b[m\n" +
		"\x1b]8;;https://evil.example/\x07link\x1b]8;;\x07 and \x1b]0;title\x1b\\title\n" +
		"user \u202egpj.exe\u202c and \x00 and \u009b31m and \u200b\n" +
		"<script>alert(1)</script><img src=x onerror=alert(2)>\n" +
		"10 %\r50 %\r100 %\r\n" + "\x1b[2J\x1b[10;10Hmoved\x1b[K\n" + "\xff\xfe bad bytes\n" + "tab\there")
	g.end("succeeded")
	p := w.ready(browser.Start(t), g.id)
	want := []string{"red and blue and ground", "link and title", "user U+202Egpj.exeU+202C and ␀ and  and U+200B",
		"<script>alert(1)</script><img src=x onerror=alert(2)>", "100 %", "moved", "\ufffd\ufffd bad bytes", "tab\there"}
	got := browser.Eval[[]string](p, "[...document.querySelectorAll('#log .tx')].map(x => x.textContent)")
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("the lines are %q, want %q", got, want)
	}
	if n := browser.Eval[int](p, "document.querySelectorAll('#log .log :is(a, script, img)').length"); n != 0 {
		t.Errorf("the log has %d elements that are not text", n)
	}
	classes := browser.Eval[[]string](p, "[...document.querySelectorAll('#log .tx span')].map(x => x.className)")
	if fmt.Sprint(classes) != "[a-r a-B a-b g-r ctl ctl ctl a-r a-r ctl]" {
		t.Errorf("the classes are %q", classes)
	}
	if text := p.Text("#log [data-len]"); text != "8 lines" {
		t.Errorf("the log has %q", text)
	}
	p.Click("#log .ln:nth-child(2) .no")
	browser.Eval[bool](p, "document.querySelector('#log .ln:nth-child(4) .no').dispatchEvent("+
		"new MouseEvent('click', {bubbles: true, shiftKey: true}))")
	if hash := browser.Eval[string](p, "location.hash"); hash != "#L2-L4" {
		t.Errorf("the marks are %q", hash)
	}
	p.Wait("three lines are marked", "document.querySelectorAll('#log .ln.mark').length === 3")
	p.Shot("log-inert")
}

// follow waits until the log follows, or does not.
func follows(p *browser.Page, on bool) {
	p.Wait(fmt.Sprintf("follow is %v", on),
		fmt.Sprintf("document.querySelector('[data-follow]').getAttribute('aria-pressed') === '%v'", on))
}

// atRest waits until the log scrolls no more: browsers scroll smoothly.
func atRest(p *browser.Page) {
	browser.Eval[bool](p, `new Promise(done => {
		const e = document.querySelector('.log');
		let at = -1, same = 0;
		const look = () => {
			same = e.scrollTop === at ? same + 1 : 0;
			at = e.scrollTop;
			if (same > 20) done(true); else requestAnimationFrame(look);
		};
		look();
	})`)
}

// TestFollowEndsByIntent ends following by each intent of the reader, and never by new lines.
func TestFollowEndsByIntent(t *testing.T) {
	t.Parallel()
	w := newRunRig(t)
	g := w.claim(script)
	g.print(numbered(1, 400))
	p := w.ready(browser.Start(t), g.id)
	next := 401
	add := func(n int) {
		g.print(numbered(next, n))
		next += n
		p.Wait("the lines came", hasLines(next-1))
	}
	const centre = 600.0
	y := browser.Eval[float64](p, "(r => r.top + r.height / 2)(document.querySelector('.log').getBoundingClientRect())")
	bar := browser.Eval[float64](p,
		"(e => e.getBoundingClientRect().left + e.clientWidth + 4)(document.querySelector('.log'))")
	intents := map[string]func(){
		"wheel": func() {
			p.Do("wheel", chromedp.MouseEvent(input.DispatchMouseEventTypeMouseWheel, centre, y,
				func(m *input.DispatchMouseEventParams) {
					m.DeltaX, m.DeltaY = 0.01, -200 // a zero is left out, and refused
				}))
		},
		"arrow": func() { focus(p, ".log"); p.Press(kb.ArrowUp) },
		"page":  func() { focus(p, ".log"); p.Press(kb.PageUp) },
		"touch": func() {
			browser.Eval[bool](p, "document.querySelector('.log').dispatchEvent(new Event('touchmove', {bubbles: true}))")
		},
		"bar": func() {
			p.Do("press the bar", chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, bar, y, chromedp.ButtonLeft),
				chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, bar, y, chromedp.ButtonLeft))
		},
	}
	for name, intent := range intents {
		follows(p, true)
		add(50)
		if !browser.Eval[bool](p,
			"(e => e.scrollTop + e.clientHeight > e.scrollHeight - 2)(document.querySelector('.log'))") {
			t.Errorf("before %s the log does not show its end", name)
		}
		intent()
		follows(p, false)
		atRest(p)
		before := p.Text("#log .ln .tx")
		add(30)
		if after := p.Text("#log .ln .tx"); after != before {
			t.Errorf("after %s the first line in view moved from %q to %q", name, before, after)
		}
		if text := strings.TrimSpace(p.Text("[data-tail]")); text != "30 new lines, End" {
			t.Errorf("after %s the button says %q", name, text)
		}
		p.Click("[data-tail]")
	}
	follows(p, true)
	g.end("succeeded")
	p.Wait("the button to follow goes", "document.querySelector('[data-follow]').hidden")
}

// TestEveryLineArrives prints 10,000 lines a second while the log follows: each is there once and in order.
func TestEveryLineArrives(t *testing.T) {
	t.Parallel()
	w := newRunRig(t)
	g := w.claim(script)
	p := w.ready(browser.Start(t), g.id)
	const perStep, every = 1000, 100 * time.Millisecond
	steps := depthtest.Of(30, 300)
	for i := range steps {
		next := time.After(every)
		g.print(numbered(i*perStep+1, perStep))
		<-next
	}
	g.end("succeeded")
	checkLines(t, p, steps*perStep)
	if text := p.Text("#log .lines .ln:last-child .tx"); text != strings.TrimSpace(numbered(steps*perStep, 1)) {
		t.Errorf("the log shows %q at its end", text)
	}
}

// hasLines is an expression that is true when the log says that it has n lines.
func hasLines(n int) string {
	return fmt.Sprintf("document.querySelector('[data-len]').textContent === '%s lines'", comma(n))
}

// focus is an expression that gives the focus to an element.
func focus(p *browser.Page, selector string) {
	browser.Eval[bool](p, fmt.Sprintf("document.querySelector(%q).focus() ?? true", selector))
}

// checkLines compares all lines that the page has.
func checkLines(t *testing.T, p *browser.Page, n int) {
	t.Helper()
	p.Wait("all lines are there", hasLines(n))
	wrong := browser.Eval[[]string](p, logView(fmt.Sprintf(`(async () => {
		const out = [], b = v.blocks;
		for (let k = 0; k * 65536 < b.total; k++) {
			await b.load(k);
			const to = b.lineOf({k, i: (b.counts[k] ?? 0) - 1});
			for (let i = b.lineOf({k, i: -1}); i < to && out.length < 5; i++) {
				const x = b.get(i);
				for (const j of x.need) await b.load(j);
				const text = b.get(i).text;
				if (!x.exact || i && !text.startsWith('line ' + (i + 1) + ' of')) out.push((i + 1) + ': ' + text);
			}
		}
		if (b.lines() !== %d) out.push(b.lines() + ' lines');
		return out;
	})()`, n)))
	if len(wrong) > 0 {
		t.Errorf("wrong lines: %q", wrong)
	}
}

// TestFind finds by the server in a log of many blocks, and goes to a line far away by its number.
func TestFind(t *testing.T) {
	t.Parallel()
	w := newRunRig(t)
	g := w.claim(script)
	for i := range 40 {
		g.print(numbered(i*2000+1, 2000))
	}
	g.end("succeeded")
	p := w.ready(browser.Start(t), g.id)
	p.Press("f")
	p.Wait("the field has the focus", "document.activeElement.matches('[data-log-find]')")
	p.Type("[data-log-find]", "line 4321")
	p.Wait("the count is true", "document.querySelector('[data-found]').textContent === '1 of 11'")
	p.Wait("the hit is shown",
		"[...document.querySelectorAll('#log .ln.hit mark')].some(x => x.textContent === 'line 4321')")
	if no := p.Text("#log .ln.hit .no"); no != "4,321" {
		t.Errorf("the first hit has the number %q", no)
	}
	p.Click("#log [data-step='1']")
	p.Wait("the next hit is shown", "document.querySelector('#log .ln.hit .no')?.textContent === '43,210'")
	p.Shot("log-find")
	p.Click("#log [data-regex]")
	p.Allow("400")
	browser.Eval[bool](p, "(i => { i.value = '(['; i.dispatchEvent(new Event('input')); return true; })"+
		"(document.querySelector('[data-log-find]'))")
	p.Wait("a bad expression is named",
		"document.querySelector('[data-log-find]').getAttribute('aria-invalid') === 'true'")
	browser.Eval[bool](p, "(location.hash = '#L60000', true)")
	p.Wait("line 60,000 is shown", "document.querySelector('#log .ln.mark .no')?.textContent === '60,000'")
	if text := p.Text("#log .ln.mark .tx"); text != strings.TrimSpace(numbered(60000, 1)) {
		t.Errorf("line 60,000 is %q", text)
	}
}
