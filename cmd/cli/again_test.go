package cli

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// with adds answers to a fake server, by patterns of http.ServeMux.
func (f *fakeServer) with(answers map[string]any) *fakeServer {
	mux := http.NewServeMux()
	for pattern, v := range answers {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { f.answer(w, http.StatusOK, v) })
	}
	inner := f.Config.Handler
	outer := http.NewServeMux()
	outer.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			f.capture(mux).ServeHTTP(w, r)
			return
		}
		inner.ServeHTTP(w, r)
	})
	f.Config.Handler = outer
	return f
}

// TestAgain makes runs of the newest one.
func TestAgain(t *testing.T) {
	t.Parallel()
	for verb, path := range map[string]string{"rerun": "rerun", "retry": "retry", "relaunch": "relaunch-failed"} {
		f := newFakeServer(t, obj{"id": "run_1", "status": "pending"})
		if code, out, errs := call(t, f, verb, "latest"); code != exitDone || out != "run_1\n" || errs != "" {
			t.Errorf("%s: exit %d, %q, %q", verb, code, out, errs)
		}
		f.asked(t, "GET /v1/runs?limit=1 ")
		f.asked(t, "POST /v1/runs/run_1/"+path+" ")
	}
	f := newFakeServer(t, obj{}).with(map[string]any{"GET /v1/runs": obj{"runs": []any{}}})
	if code, out, errs := call(t, f, "rerun", "latest"); code != exitFailed || out != "" ||
		errs != "writ: there is no latest run: none exists that you may read\n" {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
}

// TestWarningsOfAnswers: the warnings of an answer are on standard error, once, and the output stays the id.
func TestWarningsOfAnswers(t *testing.T) {
	t.Parallel()
	const warned = "writ: warning: no executor serves the queue \"gpu\"\n"
	r := obj{"id": "run_1", "status": "succeeded", "tool": "bash",
		"warnings": []obj{{"code": "queue_unserved", "message": `no executor serves the queue "gpu"`}}}
	ends := func(w http.ResponseWriter, _ url.Values) { frame(w, "run", r); frame(w, "end", obj{}) }
	file := tree(t, map[string]string{"p.yaml": "steps: [{name: a, command: b}]"}) + "/p.yaml"
	for _, args := range [][]string{{"run", "-p", "x", "--queue", "gpu"}, {"rerun", "run_1"}, {"retry", "run_1"},
		{"relaunch", "run_1"}, {"launch", "deploy"}, {"pipeline", "submit", file}} {
		answers := names()
		answers["POST /v1/pipelines"], answers["POST /v1/templates/{id}/launch"] = r, r
		answers["GET /v1/templates/{id}"] = obj{"id": "tpl_1"}
		f := newFakeServer(t, r, ends).with(answers)
		if code, out, errs := call(t, f, args...); code != exitDone || out != "run_1\n" || errs != warned {
			t.Errorf("%v: exit %d, %q, %q", args, code, out, errs)
		}
		if code, out, errs := call(t, f, append(args, "-f")...); code != exitDone || strings.Contains(out, "gpu") ||
			errs != warned {
			t.Errorf("%v -f: exit %d, %q, %q", args, code, out, errs)
		}
		if _, out, errs := call(t, f, append(args, "--json")...); !strings.Contains(out, "gpu") || errs != "" {
			t.Errorf("%v --json: %q, %q", args, out, errs)
		}
		if _, out, errs := call(t, f, append(args, "--jq", ".id")...); out != "run_1\n" || errs != warned {
			t.Errorf("%v --jq: %q, %q", args, out, errs)
		}
	}
}

// TestActsOnSeveral cancels the other runs although one cannot be canceled.
func TestActsOnSeveral(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{"id": "run_1", "status": "canceled"})
	if code, _, errs := call(t, f, "cancel", "run_1", "run_2"); code != exitUsage ||
		errs != "writ: cancel 2 runs: nobody can be asked without a terminal: give --yes\n" {
		t.Errorf("exit %d, %q", code, errs)
	}
	f.with(map[string]any{"POST /v1/runs/run_2/cancel": obj{"id": "run_2", "status": "running", "cancel_requested": true}})
	if code, out, errs := call(t, f, "cancel", "-y", "run_1", "run_2"); code != exitDone || errs != "" ||
		out != "run_1 canceled\nrun_2 is being canceled\n" {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	if code, out, errs := call(t, f, "approve", "-y", "a", "b"); code != exitFailed || out != "" ||
		strings.Count(errs, "the run is not held") != 2 {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	if code, out, _ := call(t, f, "cancel", "-y", "a", "b", "--jq", ".count"); code != exitDone || out != "2\n" {
		t.Errorf("exit %d, %q", code, out)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{}).with(map[string]any{"GET /v1/runs/{id}/compare": obj{
		"run": obj{"id": "run_2", "status": "failed", "duration_ms": 9000}, "changed_fields": []string{"limit", "commit"},
		"baseline": obj{"id": "run_1", "status": "succeeded", "duration_ms": 5000},
		"hosts": []obj{{"host": "db1", "verdict": "same", "before": "ok", "after": "ok"},
			{"host": "web2", "verdict": "added", "after": "ignored"},
			{"host": "web1", "verdict": "broke", "before": "ignored", "after": "failed"}},
		"tasks": []obj{{"task": "small", "before_ms": 1000, "after_ms": 1100, "delta_ms": 100},
			{"task": "faster", "before_ms": 4000, "after_ms": 1000, "delta_ms": -3000}, {"task": "new", "after_ms": 500}},
	}})
	code, out, errs := call(t, f, "compare", "run_2")
	want := `          STATUS     TOOK  CREATED  ID
baseline  succeeded  5.0s  never    run_1
run       failed     9.0s  never    run_2
changed: limit, commit

VERDICT  HOST  BEFORE  AFTER
broke    web1  ok      failed
added    web2  -       ok

1 host with the same result

TASK    BEFORE  AFTER  DELTA
faster    4.0s   1.0s  -3.0s
small     1.0s   1.1s  +0.1s
new          -   0.5s      -
`
	if diff := cmp.Diff(want, out); diff != "" || code != exitDone || errs != "" {
		t.Errorf("exit %d, %q\n%s", code, errs, diff)
	}
	f.asked(t, "GET /v1/runs/run_2/compare?with=prev ")
	if _, out, _ := call(t, f, "compare", "run_2", "run_1", "-o", "wide"); !strings.Contains(out, "same     db1") {
		t.Errorf("%s", out)
	}
	if _, out, _ := call(t, f, "compare", "run_2", "run_1", "--jq", ".hosts[0].host"); out != "db1\n" {
		t.Errorf("%s", out)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{"id": "run_1", "status": "failed", "error": "no executor"})
	f.failures = `{"groups":[{"task":"install","message":"no space","outcome":"failed","count":2,"hosts":["web1","web2"]},` +
		`{"task":"probe","message":"none","outcome":"ignored","count":1,"hosts":["web3"]}]}`
	want := "\n✗ install\n  failed on 2 hosts: web1, web2\n    no space\n"
	if code, out, errs := call(t, f, "failures", "run_1"); code != exitDone || out != want || errs != "" {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	if _, out, _ := call(t, f, "failures", "run_1", "-o", "wide"); !strings.Contains(out, "ignored on 1 host: web3") {
		t.Errorf("%q", out)
	}
	f.failures = `{"groups":[]}`
	if _, out, errs := call(t, f, "failures", "run_1"); out != "✗ run_1 failed: no executor\n" ||
		errs != "writ: no host failed\n" {
		t.Errorf("%q, %q", out, errs)
	}
}

// TestWatch prints the runs that have not ended, and follows one.
func TestWatch(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{"id": "run_1", "status": "failed", "tool": "ansible"}, playbook, rest).with(map[string]any{
		"GET /v1/runs": obj{"total": 3, "runs": []obj{{"id": "run_2", "status": "pending", "tool": "bash", "name": "a"},
			{"id": "run_1", "status": "running", "tool": "ansible", "name": "b"}}}})
	code, out, errs := call(t, f, "watch", "--limit", "2")
	if code != exitDone || errs != "" || !strings.HasPrefix(out, "1 running, 1 waiting, 0 held\n\nSTATUS ") ||
		!strings.HasSuffix(out, "  run_1\nand 1 more run; --limit shows more\n") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	f.asked(t, "GET /v1/runs?limit=2&status=running&status=pending&status=pending_approval ")
	if code, out, _ := call(t, f, "watch", "run_1"); code != exitFailed || !strings.Contains(out, "TASK     web1") {
		t.Errorf("exit %d, %s", code, out)
	}
}
