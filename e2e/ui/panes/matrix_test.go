package panes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/e2e/ui/browser"
)

// comma writes a number with separators of thousands.
func comma(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func started(task string, n int) harness.Body {
	return harness.Body{"type": "task_started", "task": task, "task_id": fmt.Sprintf("t%d", n), "play": "all"}
}

func result(kind, host, task string, n int) harness.Body {
	e := harness.Body{"type": kind, "host": host, "task": task, "task_id": fmt.Sprintf("t%d", n), "play": "all"}
	switch kind {
	case "host_failed":
		e["message"] = "no space left on " + host
	case "host_unreachable":
		e["message"] = "connection timed out"
	}
	return e
}

// matrix is an expression over the matrix m of the page, for use in another one.
func matrix(expression string) string {
	return fmt.Sprintf("(await %s.then(x => { const m = x.viewOf(document.querySelector('#matrix')); return %s; }))",
		module("matrix.js"), expression)
}

// fromMatrix evaluates an expression over the matrix m of the page.
func fromMatrix[T any](p *browser.Page, expression string) T {
	return browser.Eval[T](p, "(async () => "+matrix(expression)+")()")
}

// cell is an expression of the cell of a host in a column.
func cell(host string, t int) string {
	return matrix(fmt.Sprintf("m.grid.cell(m.grid.host(%q), %d)", host, t))
}

type served struct {
	Tasks []struct{ ID, Name string }
	Names []string
	Cells []byte
}

// cells returns the decoded cells of the API, column by column.
func (m served) cells() (out []byte) {
	for i := 0; i < len(m.Cells); {
		cell, n, shift := m.Cells[i], 0, 0
		for i++; ; i++ {
			n |= int(m.Cells[i]&127) << shift
			shift += 7
			if m.Cells[i] < 128 {
				break
			}
		}
		i++
		out = append(out, strings.Repeat(string(rune(cell)), n)...)
	}
	return out
}

// checkMatrix compares the cells and the figures of the page with the API.
func checkMatrix(t *testing.T, w *runRig, p *browser.Page, id string) {
	t.Helper()
	var m served
	w.Do(http.MethodGet, "/v1/runs/"+id+"/matrix", nil).JSON(t, &m)
	want := map[string]int{}
	for i, c := range m.cells() {
		want[m.Names[i%len(m.Names)]+" "+m.Tasks[i/len(m.Names)].Name] = int(c)
	}
	got := fromMatrix[map[string]int](p, `Object.fromEntries(m.grid.names.flatMap((n, h) =>
		m.grid.tasks.map((t, i) => [n + ' ' + t.name, m.grid.cell(h, i)])))`)
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("the page's cells are\n%s, the API's\n%s", a, b)
	}
	var hosts struct{ Hosts []struct{ Worst string } }
	w.Do(http.MethodGet, "/v1/runs/"+id+"/hosts?limit=5000", nil).JSON(t, &hosts)
	counts := map[string]int{}
	for _, h := range hosts.Hosts {
		counts[h.Worst]++
	}
	shown := browser.Eval[map[string]string](p, `Object.fromEntries(
		[...document.querySelectorAll('[data-chips] button')].map(b =>
		[b.querySelector('.hidephone').textContent, b.querySelector('.st').textContent]))`)
	for word, n := range counts {
		if shown[word] != comma(n) {
			t.Errorf("the page shows %s hosts %q, the API has %d", word, shown[word], n)
		}
	}
}

// fleetRun executes a run of some hosts and tasks: a few hosts fail and one cannot be reached.
func (w *runRig) fleetRun(hosts, tasks int) string {
	g := w.claim(harness.Body{"playbook": "site.yml"})
	var list []harness.Body
	for t := range tasks {
		name := fmt.Sprintf("nginx : step %d", t+1)
		list = append(list, started(name, t+1))
		for h := range hosts {
			host := fmt.Sprintf("web-%03d", h+1)
			switch {
			case h == 6 && t == 2:
				list = append(list, result("host_failed", host, name, t+1))
			case h == 9 && t == 0:
				list = append(list, result("host_unreachable", host, name, t+1))
			case h == 6 && t > 2, h == 9:
			case t == 1 && h%3 == 0:
				e := result("host_ok", host, name, t+1)
				e["changed"] = true
				list = append(list, e)
			default:
				list = append(list, result("host_ok", host, name, t+1))
			}
		}
	}
	g.events(list...)
	var summary []harness.Body
	for h := range hosts {
		row := harness.Body{"host": fmt.Sprintf("web-%03d", h+1), "ok": tasks, "worst": "ok"}
		switch {
		case h == 6:
			row = harness.Body{"host": row["host"], "ok": 2, "failed": 1, "worst": "failed"}
		case h == 9:
			row = harness.Body{"host": row["host"], "unreachable": 1, "worst": "unreachable"}
		case h%3 == 0:
			row["changed"], row["worst"] = 1, "changed"
		}
		summary = append(summary, row)
	}
	g.report("host-summary", harness.Body{"hosts": summary})
	g.print("PLAY [all] ***\n\nTASK [nginx : step 3] ***\nok: [web-001]\nfatal: [web-007]: FAILED! => {}\n")
	g.end("failed")
	return g.id
}

// TestMatrixByKeyboard walks the matrix by keys: the line below and the real cells say where the reader is.
func TestMatrixByKeyboard(t *testing.T) {
	t.Parallel()
	w := newRunRig(t)
	id := w.fleetRun(40, 6)
	p := w.ready(browser.Start(t), id)
	p.Wait("the matrix is ready", "document.querySelector('#matrix').dataset.ready !== undefined")
	checkMatrix(t, w, p, id)
	active := func() string {
		return browser.Eval[string](p, "document.getElementById("+
			"document.querySelector('.mx').getAttribute('aria-activedescendant')).textContent")
	}
	readout := func(want string) {
		t.Helper()
		if got := p.Text("[data-readout]"); got != want {
			t.Errorf("the line below says %q, want %q", got, want)
		}
	}
	p.Press("n")
	readout("web-007 · nginx : step 3 · failed · no space left on web-007")
	if got, want := active(), "web-007, nginx : step 3, failed, no space left on web-007"; got != want {
		t.Errorf("the real cell says %q, want %q", got, want)
	}
	p.Press("n")
	readout("web-010 · nginx : step 1 · unreachable · connection timed out")
	p.Press("N")
	p.Press(kb.ArrowLeft)
	readout("web-007 · nginx : step 2 · changed")
	p.Press(kb.End)
	readout("web-007 · nginx : step 6 · not reached")
	p.Press(kb.Home)
	p.Press(kb.ArrowDown)
	p.Press(kb.ArrowDown)
	readout("web-001 · nginx : step 1 · ok")
	if rows := browser.Eval[int](p, "document.querySelectorAll('.mx [role=row]').length"); rows != 3 {
		t.Errorf("there are %d real rows", rows)
	}
	p.Press(kb.ArrowUp)
	p.Press(kb.ArrowUp)
	p.Press(kb.ArrowRight)
	p.Press(kb.ArrowRight)
	p.Press(kb.Enter)
	p.Wait("the details are shown", "(c => c.childElementCount > 0 && !c.hasAttribute('aria-busy') && "+
		"c.textContent.includes('no space left on web-007'))(document.querySelector('#cell'))")
	p.Wait("the log shows the line of the cell",
		"document.querySelector('#log .ln.mark .tx')?.textContent.startsWith('fatal: [web-007]')")
	if !browser.Eval[bool](p, "document.activeElement.matches('.drawer') && !document.activeElement.hidden") {
		t.Error("the details are closed again, or have no focus")
	}
	p.Shot("matrix-drawer")
	p.Press(kb.Escape)
	p.Wait("the focus is back", "document.activeElement.matches('.mx') && document.querySelector('.drawer').hidden")
	p.Click("#log .ln:nth-child(4) .tx")
	p.Wait("the matrix marks the cell of the line",
		"document.querySelector('[data-readout]').textContent === 'web-001 · nginx : step 3 · ok'")
	pick(p, "[data-order]", "alike")
	if rows := fromMatrix[int](p, "m.rows.length"); rows != 4 {
		t.Errorf("40 hosts fold into %d rows, want 4", rows)
	}
	p.Shot("matrix-folded")
}
