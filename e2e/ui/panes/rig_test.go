package panes

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// runRig is a server whose runs the test executes over the relay. The address in front of it stays over restarts.
type runRig struct {
	*harness.Server
	t     testing.TB
	front *harness.Link
}

func newRunRig(t testing.TB) *runRig {
	t.Helper()
	w := &runRig{t: t, Server: harness.Start(t, harness.Options{
		Flags: []string{"--executors", "0"}, Env: []string{"WRIT_WORKER_TOKEN=" + harness.WorkerToken},
	})}
	w.front = harness.NewLink(t, strings.TrimPrefix(w.URL, "http://"))
	return w
}

// origin is the address in front of the server.
func (w *runRig) origin() string { return "http://" + w.front.Addr() }

// restart kills the server and starts it again.
func (w *runRig) restart() {
	w.t.Helper()
	w.Kill()
	w.Server = w.Again()
	w.front.Lead(strings.TrimPrefix(w.URL, "http://"))
}

// work is a claimed run.
type work struct {
	w          *runRig
	capability string
	id         string
	seq        int64
	offset     int64
}

// claim submits a run and claims it, so that it is running.
func (w *runRig) claim(body harness.Body) *work {
	w.t.Helper()
	submitted := w.Submit(body)
	g := &work{w: w, id: submitted.ID}
	a := w.As(harness.WorkerToken).Do(http.MethodPost, "/relay/v1/claim", harness.Body{
		"worker": harness.Body{"name": "w1", "version": "v", "executors": 1}, "queues": []string{"default"},
		"wait_seconds": 5,
	})
	var granted struct {
		Capability string
		Run        struct {
			NextSeq int64 `json:"next_seq"`
		}
	}
	a.JSON(w.t, &granted)
	g.capability, g.seq = granted.Capability, granted.Run.NextSeq
	g.report("save", harness.Body{"status": "running"})
	stop := make(chan struct{})
	w.t.Cleanup(func() { close(stop) })
	url := w.origin() // it outlives restarts
	go func() {
		worker := harness.NewClient(w.t, url, harness.WorkerToken)
		for {
			// A lease lasts for 30 s. While the server is away, the next call renews it.
			_, _ = worker.Try(http.MethodPost, "/relay/v1/heartbeat", harness.Body{"run_id": g.id},
				"Relay-Capability", g.capability)
			select {
			case <-stop:
				return
			case <-time.After(3 * time.Second):
			}
		}
	}()
	return g
}

func (g *work) report(verb string, body harness.Body) {
	g.w.t.Helper()
	worker := g.w.As(harness.WorkerToken)
	a := worker.Do(http.MethodPost, "/relay/v1/runs/"+g.id+"/"+verb, body, "Relay-Capability", g.capability)
	if a.Status/100 != 2 {
		g.w.t.Fatalf("%s: %d %s", verb, a.Status, a.Body)
	}
}

// print appends to the output.
func (g *work) print(text string) {
	g.w.t.Helper()
	g.report("log", harness.Body{"offset": g.offset, "data": base64.StdEncoding.EncodeToString([]byte(text))})
	g.offset += int64(len(text))
}

// events reports events, which get their numbers here.
func (g *work) events(list ...harness.Body) {
	g.w.t.Helper()
	const most = 5000
	for len(list) > 0 {
		part := list[:min(most, len(list))]
		list = list[len(part):]
		for _, e := range part {
			e["seq"], e["at"] = g.seq, "2026-01-05T08:30:00Z"
			g.seq++
		}
		g.report("events", harness.Body{"events": part})
	}
}

// end ends the run.
func (g *work) end(status string) {
	g.w.t.Helper()
	g.report("save", harness.Body{"status": status, "log_bytes": g.offset})
}

// numbered returns lines with their numbers.
func numbered(from, n int) string {
	var b strings.Builder
	for i := range n {
		_, _ = fmt.Fprintf(&b, "line %d of the output of this run\n", from+i)
	}
	return b.String()
}
