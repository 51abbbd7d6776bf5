package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pipelineServer has a pipeline of the steps a, bee and c. Step a prints, then bee waits for a while and fails, and c
// is skipped.
func pipelineServer(t *testing.T, waited <-chan struct{}) *fakeServer {
	t.Helper()
	steps := func(a, bee, c string) obj {
		out := obj{"id": "run_p", "kind": "pipeline", "status": "running", "steps": []obj{
			{"name": "a", "status": a, "run_id": "run_a"}, {"name": "bee", "status": bee}, {"name": "c", "status": c}}}
		if bee != "" {
			out["steps"].([]obj)[1]["run_id"] = "run_b"
		}
		return out
	}
	done := steps("succeeded", "failed", "skipped")
	done["status"], done["error"] = "failed", `step "bee" failed`
	gate := make(chan struct{})
	streams := map[string]func(http.ResponseWriter){
		"run_p": func(w http.ResponseWriter) {
			frame(w, "run", steps("running", "", ""))
			w.(http.Flusher).Flush()
			<-gate
			frame(w, "run", steps("succeeded", "pending", ""))
			frame(w, "run", done)
			frame(w, "end", obj{})
		},
		"run_a": func(w http.ResponseWriter) {
			frame(w, "run", obj{"id": "run_a", "status": "running", "tool": "bash"})
			frame(w, "log", obj{"text": "one\nun", "next": 6})
			frame(w, "log", obj{"offset": 6, "text": "finished", "next": 14})
			frame(w, "end", obj{})
			close(gate)
		},
		"run_b": func(w http.ResponseWriter) {
			frame(w, "run", obj{"id": "run_b", "status": "pending", "tool": "ansible"})
			w.(http.Flusher).Flush()
			<-waited
			playbook(w, nil)
			frame(w, "run", obj{"id": "run_b", "status": "failed", "tool": "ansible"})
			frame(w, "end", obj{})
		},
	}
	f := newFakeServer(t, done)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/runs/{id}/stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		streams[r.PathValue("id")](w)
	})
	mux.Handle("/", f.Config.Handler)
	f.Config.Handler = f.capture(mux)
	return f.with(map[string]any{
		"GET /v1/runs/run_a": obj{"id": "run_a", "status": "succeeded", "duration_ms": 1000},
		"GET /v1/runs/run_b": obj{"id": "run_b", "status": "failed", "duration_ms": 2000, "hosts_touched": 3},
		"GET /v1/runs/run_b/why": obj{"reasons": []obj{{"code": "locked", "text": "another run has the lock \"db\"",
			"next": "run run_x ends"}}},
		"GET /v1/runs/run_p/why": obj{"reasons": []obj{{"code": "failed", "text": "x"}, {"code": "step_skipped",
			"object": "c", "text": `step "c": step "bee", which it depends on, ended as failed`}}},
		"GET /v1/runs/run_b/failures": obj{"groups": []obj{{"task": "install", "message": "no space", "outcome": "failed",
			"count": 1, "hosts": []string{"web2"}}}},
		"GET /v1/runs/run_p/steps": obj{"steps": []obj{{"id": "run_a", "duration_ms": 1000},
			{"id": "run_b", "duration_ms": 2000, "hosts_touched": 3}}},
	})
}

// untilAsked is the server whose step bee begins when somebody asked twice why it waits.
func untilAsked(t *testing.T) *fakeServer {
	t.Helper()
	waited := make(chan struct{})
	f := pipelineServer(t, waited)
	var asked atomic.Int32
	inner := f.Config.Handler
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r)
		if r.URL.Path == "/v1/runs/run_b/why" && asked.Add(1) == 2 { // the first answer was told by then
			close(waited)
		}
	})
	return f
}

// TestFollowsSteps follows a pipeline with the output of its steps, why one waits and why one is skipped.
func TestFollowsSteps(t *testing.T) {
	t.Parallel()
	f := untilAsked(t)
	code, out, errs := call(t, f, "run", "-p", "site.yml", "--follow")
	want := map[string][]string{
		"a": {"● run_a running", "one", "unfinished", "✓ run_a succeeded in 1.0s"},
		"bee": {"  another run has the lock \"db\"", "  run run_x ends", "● run_1 running", "PLAY web",
			"failed web2: no space on /dev/sda1", "✗ install", "✗ run_b failed in 2.0s, 3 hosts"},
		"": {"● run_p running", `○ step c skipped: step "bee", which it depends on, ended as failed`,
			"STEP  STATUS     TOOK  HOSTS  ID", "a     succeeded  1.0s      0  run_a", "bee   failed     2.0s      3  run_b",
			"c     skipped       -      -", `✗ run_p failed: step "bee" failed`},
	}
	for step, lines := range want {
		own := linesOf(out, step)
		for _, line := range lines {
			i := strings.Index(own, line)
			if i < 0 {
				t.Errorf("exit %d: no %q of step %q after its other lines in\n%s%s", code, line, step, out, errs)
				break
			}
			own = own[i+len(line):]
		}
	}
	if code != exitFailed || errs != "" || strings.Contains(out, "pending") {
		t.Errorf("exit %d, %q\n%s", code, errs, out)
	}
}

// TestFollowingStops ends the following of a pipeline while a step waits: nothing is left behind.
func TestFollowingStops(t *testing.T) {
	t.Parallel()
	waited := make(chan struct{})
	defer close(waited)
	f := pipelineServer(t, waited)
	ctx, stop := context.WithCancel(t.Context())
	var out bytes.Buffer
	p := newProgress(screen{w: &out}, false)
	c := &client{base: f.URL, http: f.Client()}
	to := &stopsAtStep{progress: p, name: "bee", stop: stop}
	if _, err := c.followFamily(ctx, "run_p", to, &out); !errors.Is(err, context.Canceled) {
		t.Errorf("%v\n%s", err, out.String())
	}
	_, _ = out.WriteString("nobody writes beside this: the race detector would see it")
}

// stopsAtStep ends the following when a step begins.
type stopsAtStep struct {
	*progress
	name string
	stop func()
}

func (s *stopsAtStep) step(name string) stepWatcher {
	if name == s.name {
		s.stop()
	}
	return s.progress.step(name)
}

// linesOf returns the lines behind the prefix of a step, without one those of the pipeline.
func linesOf(out, step string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		name, text, ok := strings.Cut(line, " | ")
		if ok && strings.TrimSpace(name) == step {
			b.WriteString(text)
		} else if !ok && step == "" {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestLogsOfAPipeline(t *testing.T) {
	t.Parallel()
	f := untilAsked(t)
	code, out, errs := call(t, f, "logs", "-f", "run_p")
	if diff := cmp.Diff("a   | one\na   | unfinished\nbee | TASK [install]\n", out); diff != "" || code != exitFailed {
		t.Errorf("exit %d %s", code, diff)
	}
	want := `writ: waiting: another run has the lock "db"; run run_x ends
writ: step c skipped: step "bee", which it depends on, ended as failed
writ: run_p failed: step "bee" failed
`
	for line := range strings.Lines(want) {
		if !strings.Contains(errs, line) {
			t.Errorf("no %q in %q", line, errs)
		}
	}
}

// TestLogsOfSteps prints the output of a pipeline that has ended, and of one step.
func TestLogsOfSteps(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{"id": "run_p", "kind": "pipeline", "steps": []obj{{"name": "a", "run_id": "run_a"},
		{"name": "bee", "run_id": "run_b"}, {"name": "c", "status": "skipped"}, {"name": "d"}}})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/runs/{id}/logs", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, map[string]string{"run_a": "\x1b[31mred\x1b[0m\nno \x1b[2J end",
			"run_b": "two\n"}[r.PathValue("id")])
	})
	mux.Handle("/", f.Config.Handler)
	f.Config.Handler = f.capture(mux)
	f.with(map[string]any{"GET /v1/runs/{id}/logs/find": obj{"total": 1002,
		"hits": []obj{{"line": 7, "text": "fatal: x"}}}})
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"run_p"}, exitDone, "a   | \x1b[31mred\x1b[0m\na   | no \x1b[2J end\nbee | two\n"},
		{[]string{"latest", "--no-color"}, exitDone, "a   | red\na   | no \x1b[2J end\nbee | two\n"},
		{[]string{"run_p", "--step", "a"}, exitDone, "\x1b[31mred\x1b[0m\nno \x1b[2J end"},
		{[]string{"run_p", "--step", "a", "--no-color"}, exitDone, "red\nno \x1b[2J end"},
		{[]string{"run_p", "--step", "c"}, exitFailed, `step "c" was skipped`},
		{[]string{"run_p", "--step", "d"}, exitFailed, `step "d" has not begun: follow the pipeline with writ logs -f run_p`},
		{[]string{"run_p", "--step", "e"}, exitFailed, `there is no step "e", only a, bee, c, d`},
		{[]string{"run_p", "--step", "a", "--find", "fatal"}, exitDone, "7: fatal: x\nand 1001 more lines\n"},
	} {
		code, out, errs := call(t, f, append([]string{"logs"}, c.args...)...)
		if code != c.code || code == exitDone && out != c.want || code != exitDone && !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit %d, %q, %q", c.args, code, out, errs)
		}
	}
	f.asked(t, "GET /v1/runs/run_a/logs/find?case=1&limit=1000&q=fatal ")
}
