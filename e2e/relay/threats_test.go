package relay

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/reserved/reservedtest"
)

// picture returns what the API shows of runs, except how long a run has executed and when its lease ends, which change
// without a call.
func (w *fixture) picture(ids ...string) string {
	w.t.Helper()
	var out strings.Builder
	for _, id := range ids {
		var record map[string]any
		w.Do(http.MethodGet, "/v1/runs/"+id, nil).JSON(w.t, &record)
		delete(record, "duration_ms")
		delete(record, "lease_expires_at")
		raw, err := json.Marshal(record)
		if err != nil {
			w.t.Fatal(err)
		}
		_, _ = fmt.Fprintf(&out, "%s\n%s\n%v\n", raw, w.Log(id), w.Events(id))
		for _, part := range []string{"hosts", "tasks"} {
			_, _ = fmt.Fprintf(&out, "%s\n", w.Do(http.MethodGet, "/v1/runs/"+id+"/"+part, nil).Body)
		}
	}
	return out.String()
}

// calls are all that a worker can report, each as it would be stored.
func calls(seq int64) map[string]struct {
	method string
	body   any
} {
	type call = struct {
		method string
		body   any
	}
	return map[string]call{
		"":          {http.MethodGet, nil},
		"heartbeat": {http.MethodPost, nil}, // its body is made for each run
		"save":      {http.MethodPost, harness.Body{"status": "failed", "error": "not mine"}},
		"divide":    {http.MethodPost, harness.Body{"hosts": []string{"forged"}}},
		"log": {http.MethodPost, harness.Body{"offset": 0,
			"data": base64.StdEncoding.EncodeToString([]byte("forged\n"))}},
		"events": {http.MethodPost, harness.Body{"events": []any{harness.Body{"seq": seq, "at": "2026-01-05T08:30:00Z",
			"type": "warning", "message": "forged"}}}},
		"host-summary": {http.MethodPost, harness.Body{"hosts": []any{harness.Body{"host": "forged", "worst": "ok",
			"ok": 1}}}},
		"task-summary": {http.MethodPost, harness.Body{"tasks": []any{harness.Body{"task": "forged", "duration_ms": 1}}}},
		"host-facts": {http.MethodPost, harness.Body{"facts": []any{harness.Body{"host": "forged",
			"gathered_at": "2026-01-05T08:30:00Z", "facts": harness.Body{}}}}},
		"inventory": {http.MethodGet, nil},
		"project":   {http.MethodGet, nil},
	}
}

// TestACapabilityIsForOneClaim makes every call about every run with every capability that is not that run's: of
// another run, of an earlier claim, of a run that ended, an invented one, and none. All calls are refused and nothing
// changes.
// Keeps T01.
func TestACapabilityIsForOneClaim(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, dbURL)
		for range 3 {
			w.Submit(harness.Body{"tool": "bash", "command": "true"})
		}
		ended, released, mine := w.claim("a"), w.claim("a"), w.claim("b")
		w.SetLease(mine.Run.ID, time.Hour) // so that only the calls below can change the run
		w.mustReport(http.StatusNoContent, ended, "save", harness.Body{"status": "running"})
		w.mustReport(http.StatusNoContent, ended, "save", harness.Body{"status": "succeeded", "exit_code": 0})
		w.mustReport(http.StatusNoContent, released, "save", harness.Body{"status": "pending"})
		anew := w.claim("a")
		if anew == nil || anew.Run.ID != released.Run.ID || anew.Run.Epoch <= released.Run.Epoch ||
			anew.Capability == released.Capability {
			t.Fatalf("claimed anew: %+v after %+v", anew, released)
		}
		w.SetLease(anew.Run.ID, time.Hour)
		w.mustReport(http.StatusNoContent, mine, "save", harness.Body{"status": "running"})
		before := w.picture(ended.Run.ID, anew.Run.ID, mine.Run.ID)
		forged := base64.RawURLEncoding.EncodeToString(make([]byte, 32))
		for run, capabilities := range map[*grant]map[string]string{
			mine: {"another run's": anew.Capability, "an ended run's": ended.Capability, "an old claim's": released.Capability,
				"nobody's": forged, "no": "", "a short": "x"},
			anew: {"another run's": mine.Capability, "an ended run's": ended.Capability, "the old claim's": released.Capability,
				"nobody's": forged, "no": ""},
			ended: {"another run's": mine.Capability, "its own": ended.Capability, "nobody's": forged, "no": ""},
		} {
			for whose, capability := range capabilities {
				for what, c := range calls(run.Run.NextSeq + 50) {
					if run == ended && whose == "its own" && what == "save" {
						c.body = harness.Body{"status": "failed"} // the same end again is no error
					}
					if what == "heartbeat" {
						c.body = harness.Body{"run_id": run.Run.ID}
					}
					a := w.report(c.method, run.Run.ID, what, c.body, capability)
					if a.Status != http.StatusConflict || !strings.Contains(string(a.Body), "lease_lost") {
						t.Errorf("%s capability at %q: %d %s", whose, what, a.Status, a.Body)
					}
				}
			}
		}
		if after := w.picture(ended.Run.ID, anew.Run.ID, mine.Run.ID); after != before {
			t.Errorf("something changed:\n%s\nwas\n%s", after, before)
		}
		// With its own capability every call is accepted.
		w.mustReport(http.StatusNoContent, mine, "save", harness.Body{"status": "succeeded", "exit_code": 0})
		w.mustReport(http.StatusNoContent, mine, "save", harness.Body{"status": "succeeded", "exit_code": 0})
		w.Intact()
	})
}

// TestWhoMayCallTheRelay: only the worker token opens the relay, and it opens nothing else.
func TestWhoMayCallTheRelay(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	w.Submit(harness.Body{"tool": "bash", "command": "true"})
	g := w.claim("a")
	for what, c := range calls(1) {
		for who, token := range map[string]string{"nobody": "", "an admin": w.Token,
			"a wrong token": harness.WorkerToken + "x"} {
			path := "/relay/v1/runs/" + g.Run.ID + "/" + what
			if what == "" {
				path = "/relay/v1/runs/" + g.Run.ID
			} else if what == "heartbeat" {
				path = "/relay/v1/heartbeat"
			}
			a := w.As(token).Do(c.method, path, c.body, "Relay-Capability", g.Capability)
			if a.Status != http.StatusUnauthorized {
				t.Errorf("%s at %q: %d %s", who, what, a.Status, a.Body)
			}
		}
	}
	for _, path := range []string{"/v1/runs", "/v1/auth/me", "/v1/workers", "/v1/audit"} {
		if a := w.peer().Do(http.MethodGet, path, nil); a.Status != http.StatusUnauthorized {
			t.Errorf("the worker token at %s: %d", path, a.Status)
		}
	}
}

// TestLies sends false reports to the server: it refuses them and stores nothing twice.
// Keeps T02, T04.
func TestLies(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, dbURL)
		w.Submit(harness.Body{"playbook": "site.yml"})
		g := w.claim("liar")
		w.mustReport(http.StatusNoContent, g, "save", harness.Body{"status": "running"})
		n := g.Run.NextSeq
		event := func(seq int64, typ, host string) harness.Body {
			return harness.Body{"seq": seq, "type": typ, "host": host, "task": "t", "at": "2026-01-05T08:30:00Z"}
		}
		batch := harness.Body{"events": []any{event(n, "host_ok", "a"), event(n+1, "host_ok", "b")}}
		for range 3 { // replayed
			if got := w.mustReport(http.StatusOK, g, "events", batch)["next_seq"]; got != float64(n+2) {
				t.Errorf("next_seq is %v", got)
			}
		}
		w.mustReport(http.StatusConflict, g, "events", harness.Body{"events": []any{event(n+9, "host_ok", "c")}}) // a gap
		for _, bad := range []harness.Body{
			{"events": []any{harness.Body{"seq": n + 2, "type": "status", "from": "running", "to": "succeeded"}}},
			{"events": make([]harness.Body, 5001)}, {"events": "x"}, {}, {"events": []any{}, "more": 1},
		} {
			w.mustReport(http.StatusBadRequest, g, "events", bad)
		}
		fact := func(host string) harness.Body {
			return harness.Body{"facts": []any{harness.Body{"host": host, "gathered_at": "2026-01-05T08:30:00Z",
				"facts": harness.Body{"ansible_os_family": "Debian"}}}}
		}
		w.mustReport(http.StatusNoContent, g, "host-facts", fact("a"))
		w.mustReport(http.StatusBadRequest, g, "host-facts", fact("never-touched"))
		text := base64.StdEncoding.EncodeToString
		for _, c := range []struct {
			off  int64
			data string
			next float64
		}{{0, "one\n", 4}, {0, "one\n", 4}, {2, "e\ntwo\n", 8}, {0, "FORGED", 8}} {
			if got := w.mustReport(http.StatusOK, g, "log",
				harness.Body{"offset": c.off, "data": text([]byte(c.data))})["next_offset"]; got != c.next {
				t.Errorf("after %q at %d the next offset is %v", c.data, c.off, got)
			}
		}
		w.mustReport(http.StatusBadRequest, g, "log", harness.Body{"offset": -1, "data": text([]byte("x"))})
		w.mustReport(http.StatusNoContent, g, "host-summary", harness.Body{"hosts": []any{
			harness.Body{"host": "a", "ok": 1, "worst": "ok"},
			harness.Body{"host": "b", "ok": 1, "failed": 1, "worst": "failed"},
		}})
		for field, bad := range map[string]harness.Body{
			"status": {"status": "held"}, "status ": {"status": "pending_approval"},
			"hosts":     {"status": "succeeded", "hosts": harness.Body{"ok": 99}},
			"log_bytes": {"status": "succeeded", "log_bytes": -1}, "log_sha256": {"status": "succeeded", "log_sha256": "zz"},
		} {
			a := w.report(http.MethodPost, g.Run.ID, "save", bad, g.Capability)
			if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), strings.TrimSpace(field)) {
				t.Errorf("save %v: %d %s", bad, a.Status, a.Body)
			}
		}
		w.mustReport(http.StatusNoContent, g, "save", harness.Body{"status": "failed", "exit_code": 2, "log_bytes": 8,
			"commit": "ffffffffffffffffffffffffffffffffffffffff"})
		r := w.Get(g.Run.ID)
		if r.Status != "failed" || r.Hosts["ok"] != 1 || r.Hosts["failed"] != 1 || *r.HostsTouched != 2 ||
			w.Log(r.ID) != "one\ntwo\n" {
			t.Errorf("the record is %+v, its log %q", r, w.Log(r.ID))
		}
		var record map[string]any
		w.Do(http.MethodGet, "/v1/runs/"+r.ID, nil).JSON(t, &record)
		if record["commit"] != nil {
			t.Errorf("a worker set the commit: %v", record["commit"])
		}
		if a := w.report(http.MethodPost, r.ID, "log", `{"offset":8,"data":"`+strings.Repeat("A", 9<<20)+`"}`,
			g.Capability); a.Status != http.StatusRequestEntityTooLarge {
			t.Errorf("9 MiB: %d", a.Status)
		}
		w.Intact()
	})
}

// TestBadClaims checks that an error names the invalid field, and that nothing is leased.
func TestBadClaims(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	id := w.Submit(harness.Body{"tool": "bash", "command": "true"}).ID
	ok := harness.Body{"name": "x", "executors": 1}
	for field, body := range map[string]harness.Body{
		"worker":           {},
		"worker.name":      {"worker": harness.Body{"name": "", "executors": 1}},
		"worker.name ":     {"worker": harness.Body{"name": "a/b", "executors": 1}},
		"worker.executors": {"worker": harness.Body{"name": "x", "executors": -1}},
		"worker.labels":    {"worker": harness.Body{"name": "x", "executors": 1, "labels": harness.Body{"A B": "x"}}},
		"queues":           {"worker": ok, "queues": []string{""}},
		"wait_seconds":     {"worker": ok, "wait_seconds": 3600},
		"heads":            {"worker": ok, "heads": make([]string, 17)},
		"nobody":           {"worker": ok, "nobody": 1},
	} {
		a := w.peer().Do(http.MethodPost, "/relay/v1/claim", body)
		if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), strings.TrimSpace(field)) {
			t.Errorf("%s: %d %s", field, a.Status, a.Body)
		}
	}
	if r := w.Get(id); r.Status != "pending" {
		t.Errorf("the run is %s", r.Status)
	}
}

// TestReservedOutputsOfAWorker is T41 for the results that a worker reports: reserved names are dropped, at the top and
// nested, and reach no later step.
// Keeps T41.
func TestReservedOutputsOfAWorker(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	step := func(name string) harness.Body { return harness.Body{"name": name, "tool": "bash", "command": "true"} }
	id := w.made("/v1/pipelines", harness.Body{"name": "p", "steps": []any{step("a"), step("b")},
		"extra_vars": harness.Body{"mine": "author"}})
	member := map[string]any{"name": "h"}
	outputs := map[string]any{"kept": 1, "mine": "worker", "machines": []any{member}}
	for _, name := range slices.Concat(reservedtest.Ansible(), reservedtest.Environment()) {
		outputs[name], member[name] = "x", "x"
	}
	for _, name := range reservedtest.Magic() {
		outputs[name] = "x"
	}
	first := w.claim("a")
	w.mustReport(http.StatusNoContent, first, "save", harness.Body{"status": "running"})
	end := harness.Body{"status": "succeeded", "exit_code": 0, "outputs": outputs}
	w.mustReport(http.StatusNoContent, first, "save", end)
	if r := w.Get(first.Run.ID); !r.Warned("vars_reserved") || len(r.Outputs) != 3 {
		t.Errorf("outputs %v, warnings %v", r.Outputs, r.Warnings)
	}
	second := w.claim("a")
	want := map[string]any{"kept": 1.0, "mine": "author", "machines": []any{map[string]any{"name": "h"}}}
	if d := cmp.Diff(want, second.Run.Vars); d != "" {
		t.Error(d)
	}
	w.mustReport(http.StatusNoContent, second, "save", harness.Body{"status": "pending"})
	w.want(http.StatusOK, http.MethodPost, "/v1/runs/"+id+"/cancel", nil)
}
