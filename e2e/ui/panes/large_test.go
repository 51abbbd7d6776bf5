package panes

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"testing"

	"github.com/writ-automation/writ/e2e/ui/browser"
	"github.com/writ-automation/writ/ports/runs"
)

// generated is a matrix that is made here, as the API would answer it.
type generated struct{ hosts, tasks int }

func (g generated) cell(h, t int) byte {
	switch {
	case h%977 == 3 && t >= 40:
		if t == 40 {
			return byte(runs.CellFailed)
		}
		return byte(runs.CellNone)
	case h%1499 == 8:
		if t == 0 {
			return byte(runs.CellUnreachable)
		}
		return byte(runs.CellNone)
	case t%9 == 4 && h%7 < 2:
		return byte(runs.CellChanged)
	case t%17 == 5:
		return byte(runs.CellSkipped)
	}
	return byte(runs.CellOK)
}

// serve answers a window of hosts.
func (g generated) serve(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.Atoi(r.FormValue("from"))
	count, _ := strconv.Atoi(r.FormValue("count"))
	to := min(from+count, g.hosts)
	var tasks []map[string]string
	for t := range g.tasks {
		name := fmt.Sprintf("role%d : task %d", t/12, t)
		tasks = append(tasks, map[string]string{"id": fmt.Sprint("t", t), "name": name, "play": "all"})
	}
	var names []string
	for h := from; h < to; h++ {
		names = append(names, fmt.Sprintf("web-%05d.example.org", h))
	}
	var coded []byte
	var last byte
	n := uint64(0)
	for t := range g.tasks {
		for h := from; h < to; h++ {
			c := g.cell(h, t)
			if n > 0 && c != last {
				coded = binary.AppendUvarint(append(coded, last), n)
				n = 0
			}
			last = c
			n++
		}
	}
	coded = binary.AppendUvarint(append(coded, last), n)
	_ = json.NewEncoder(w).Encode(map[string]any{"tasks": tasks, "hosts": g.hosts, "from": from, "rev": 1, "names": names,
		"cells": base64.StdEncoding.EncodeToString(coded)})
}

// TestLargeMatrix shows a matrix that is made here in the page of a run: it folds, paints and stays within the memory
// of its budget. The times are printed, since other work on the machine changes them.
func TestLargeMatrix(t *testing.T) {
	t.Parallel()
	w := newRunRig(t)
	id := w.fleetRun(2, 3)
	to, err := url.Parse(w.URL)
	if err != nil {
		t.Fatal(err)
	}
	b := browser.Start(t)
	for _, g := range []generated{{5000, 60}, {20_000, 200}} {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /v1/runs/{id}/matrix", g.serve)
		mux.Handle("/", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }})
		s := httptest.NewServer(mux)
		t.Cleanup(s.Close)
		p := b.Page(s.URL, w.Token)
		p.Size(2560, 1300)
		p.Open("/ui/runs/" + id + "?order=worst")
		p.Wait("the matrix is ready", "document.querySelector('#matrix').dataset.ready !== undefined")
		text := browser.Eval[string](p, measure())
		t.Logf("%d x %d: %s", g.hosts, g.tasks, text)
		var got struct{ Rows, Folded, Shown, Heap float64 }
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if int(got.Rows) != g.hosts || got.Folded >= got.Rows/10 || got.Folded < 2 || got.Shown < 1000 || got.Heap >= 80 {
			t.Errorf("%d x %d: %+v", g.hosts, g.tasks, got)
		}
		p.Shot(fmt.Sprintf("matrix-%d", g.hosts))
	}
}

// measure is an expression that scrolls through the whole matrix and returns what it measured: milliseconds of a paint
// and of a fold, cells in view, and MB of the heap.
func measure() string {
	return fmt.Sprintf(`(async () => {
		const {viewOf} = await %s, {paint, paintStrip} = await %s, {order} = await %s;
		const m = viewOf(document.querySelector('#matrix')), times = [];
		for (let i = 0; i < 300; i++) {
			m.box.scrollTop = i / 300 * m.rows.length * m.rowH;
			const at = performance.now();
			paint(m); paintStrip(m);
			times.push(performance.now() - at);
			if (i %% 10 === 0) await new Promise(requestAnimationFrame);
		}
		times.sort((a, b) => a - b);
		const at = performance.now(), folded = order(m.grid, {sort: 'alike', text: '', only: null}).length;
		const fold = performance.now() - at, r = x => Math.round(x * 10) / 10;
		return JSON.stringify({rows: m.rows.length, p10: r(times[30]), p50: r(times[150]), p99: r(times[296]),
			fold: r(fold), folded,
			shown: Math.floor((m.h - m.headH) / m.rowH) * Math.min(m.grid.T, Math.floor((m.w - m.left) / m.cw)),
			heap: r(performance.memory.usedJSHeapSize / 1e6)});
	})()`, module("matrix.js"), module("matrix-paint.js"), module("matrix-order.js"))
}
