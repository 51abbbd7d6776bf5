package notify

import (
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/notify"
)

// hidden fails the test if an answer contains a secret of a target.
func hidden(t *testing.T, what string, raw []byte) {
	t.Helper()
	if strings.Contains(string(raw), "c4nary") {
		t.Errorf("%s shows a target: %s", what, raw)
	}
}

// TestTargetsReadBackMasked writes, reads, sends back and changes the targets of every kind of object that has some.
func TestTargetsReadBackMasked(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		in := newSink(t, nil)
		w := newFixture(t, harness.Options{DB: dbURL})
		secrets := []obj{
			{"kind": "webhook", "url": in.URL + "/c4nary-a?t=c4nary", "key": "c4nary-key"},
			{"kind": "webhook", "url": in.URL + "/c4nary-b", "key": "c4nary-key"},
			{"kind": "slack", "url": strings.Replace(in.URL, "http://", "http://c4nary:c4nary@", 1) + "/c4nary-s"},
			{"kind": "pagerduty", "key": "c4nary"},
			{"kind": "grafana", "url": in.URL + "/c4nary-g", "key": "c4nary-token"}, {"kind": "email", "to": "ops@example.com"},
		}
		run := script("true", secrets...)
		run["queue"] = "parked"
		pipe := obj{"steps": []obj{{"name": "a", "tool": "bash", "command": "true", "queue": "parked"}},
			"notifications": secrets}
		template := obj{"name": "t", "tool": "bash", "command": "true", "notifications": secrets}
		for path, body := range map[string]obj{
			"/v1/runs": run, "/v1/pipelines": pipe, "/v1/templates": template,
			"/v1/schedules": {"name": "s", "cron": "@yearly", "run": run},
		} {
			made := w.answer(http.StatusCreated, http.MethodPost, path, body)
			at := made.Header.Get("Location")
			hidden(t, path, made.Body)
			read := w.answer(http.StatusOK, http.MethodGet, at, nil)
			hidden(t, at, read.Body)
			hidden(t, "list "+path, w.answer(http.StatusOK, http.MethodGet, strings.Replace(path, "pipelines", "runs", 1),
				nil).Body)
			list, _ := decoded(t, read.Body)["notifications"].([]any)
			if path == "/v1/schedules" {
				list, _ = decoded(t, read.Body)["run"].(obj)["notifications"].([]any)
			}
			if len(list) != len(secrets) || list[0].(obj)["url"] != in.URL+"/***" || list[0].(obj)["key"] != "***" ||
				list[3].(obj)["key"] != "***" {
				t.Errorf("%s reads %s", at, read.Body)
			}
			if path == "/v1/schedules" {
				echo := decoded(t, read.Body)
				for _, computed := range []string{"id", "created_by", "created_at", "updated_at", "next_run_at"} {
					delete(echo, computed)
				}
				hidden(t, "put "+at, w.answer(http.StatusOK, http.MethodPut, at, echo).Body)
			}
		}
		w.echoes(t, in, w.want(http.StatusOK, http.MethodGet, "/v1/templates", nil)["templates"].([]any)[0].(obj))
	})
}

// echoes sends a template back as it was read, then a part of it, and launches it each time.
func (w *fixture) echoes(t *testing.T, in *sink, read obj) {
	at := "/v1/templates/" + read["id"].(string)
	body := func(targets any) obj {
		return obj{"name": "t", "tool": "bash", "command": "true", "notifications": targets}
	}
	launch := func() []string {
		id := w.want(http.StatusCreated, http.MethodPost, at+"/launch", obj{})["id"].(string)
		w.ends(id, "succeeded")
		var out []string
		for _, n := range w.settled(id, len(w.record(id)["notifications"].([]any))) {
			if n.Status == "delivered" {
				out = append(out, n.Kind)
			}
		}
		return out
	}
	list := read["notifications"].([]any)
	hidden(t, "put", w.answer(http.StatusOK, http.MethodPut, at, body(list)).Body)
	if got := launch(); len(got) != 4 {
		t.Errorf("after an echo %q were told", got)
	}
	for _, path := range []string{"/c4nary-a?t=c4nary", "/c4nary-b", "/c4nary-s", "/c4nary-g/api/annotations"} {
		if l := in.at(path); len(l) != 1 || strings.Contains(path, "-a") && !l[0].signed("c4nary-key") {
			t.Errorf("after an echo %d letters came to %s", len(l), path)
		}
	}
	if l := in.at("/c4nary-s"); len(l) == 1 && l[0].header.Get("Authorization") != "Basic YzRuYXJ5OmM0bmFyeQ==" {
		t.Errorf("the account of an address: %v", l[0].header)
	}
	// A mask of several targets is ambiguous, unless its index determines the target.
	first := list[0].(obj)
	first["key"] = "c4nary-new"
	w.refuses(t, http.MethodPut, at, body([]obj{first}), "notifications[0].url")
	// One target gets another key, and one is replaced.
	list[2] = hook(in.URL + "/c4nary-n")
	w.answer(http.StatusOK, http.MethodPut, at, body(list))
	if got := launch(); len(got) != 4 || len(in.at("/c4nary-n")) != 1 {
		t.Errorf("after a change %q were told", got)
	}
	if l := in.at("/c4nary-a?t=c4nary"); len(l) != 2 || !l[1].signed("c4nary-new") {
		t.Errorf("after its key changed %d letters came", len(l))
	}
	if l := in.at("/c4nary-b"); len(l) != 2 || !l[1].signed("c4nary-key") {
		t.Errorf("what was echoed again got %d letters", len(l))
	}
	// A stored key is only sent to the address that it was set for.
	for member, n := range map[string]obj{
		"notifications[0].key": {"kind": "webhook", "url": in.URL + "/elsewhere", "key": "***"},
		"notifications[0].url": {"kind": "webhook", "url": "https://hooks.example.com/***"},
	} {
		w.refuses(t, http.MethodPut, at, body([]obj{n}), member)
	}
	if l := in.at("/elsewhere"); len(l) != 0 {
		t.Error("something came elsewhere")
	}
}

// record reads a run.
func (w *fixture) record(id string) obj {
	return w.want(http.StatusOK, http.MethodGet, "/v1/runs/"+id, nil)
}

// refuses sends a body, checks that the named member is the first invalid field, and returns the answer.
func (w *fixture) refuses(t *testing.T, method, path string, body obj, member string) {
	t.Helper()
	var p struct {
		Reason string
		Errors []struct{ Location, Message string }
	}
	a := w.Do(method, path, body)
	a.JSON(t, &p)
	if a.Status != http.StatusBadRequest || len(p.Errors) == 0 || p.Errors[0].Location != member ||
		p.Errors[0].Message == "" {
		t.Errorf("%s %s %v: want 400 for %s, got %d %s", method, path, body, member, a.Status, a.Body)
	}
	hidden(t, path, a.Body)
}

// TestMalformedTargetsAreRefused omits each required member of each kind, in every kind of request with targets: the
// error names the member.
func TestMalformedTargetsAreRefused(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newBareFixture(t, harness.Options{DB: dbURL})
		values := obj{"url": "https://hooks.example.com/c4nary", "key": "c4nary", "to": "ops@example.com"}
		bad := map[string][]obj{ // by the member at fault
			"kind": {{"kind": "fax", "url": "https://c4nary.example.com"}, {"kind": "", "url": "https://c4nary.example.com"}},
			"url": {
				{"kind": "webhook", "url": "https://hooks.example.com/***"}, {"kind": "slack", "url": "***"},
				{"kind": "ntfy", "url": "ftp://x/c4nary"},
				{"kind": "teams", "url": "c4nary"}, {"kind": "discord", "url": "https:///c4nary"},
				{"kind": "webhook", "url": "https://x/c4nary\nHost: y"},
				{"kind": "webhook", "url": "https://x/" + strings.Repeat("c4nary", 1000)},
			},
			"key": {{"kind": "pagerduty", "key": "***"}, {"kind": "webhook", "url": "https://x.example.com/a", "key": "***"},
				{"kind": "pagerduty", "key": "a\nb"}},
			"to": {{"kind": "email", "to": "c4nary"}, {"kind": "email", "to": "a@example.com\r\nBcc: c4nary@example.com"}},
		}
		for _, k := range notify.Kinds() {
			for _, missing := range k.Required {
				n := obj{"kind": k.Name}
				for _, member := range k.Required {
					if member != missing {
						n[member] = values[member]
					}
				}
				bad[missing] = append(bad[missing], n)
			}
		}
		fine := obj{"kind": "email", "to": "ops@example.com"}
		for member, list := range bad {
			for _, n := range list {
				at := "notifications[1]." + member
				two := []obj{fine, n}
				run := script("true", two...)
				pipe := obj{"steps": []obj{{"name": "a", "tool": "bash", "command": "true"}}, "notifications": two}
				w.refuses(t, http.MethodPost, "/v1/runs", run, at)
				w.refuses(t, http.MethodPost, "/v1/pipelines", pipe, at)
				w.refuses(t, http.MethodPost, "/v1/templates",
					obj{"name": "t", "tool": "bash", "command": "true", "notifications": two}, at)
				w.refuses(t, http.MethodPost, "/v1/schedules", obj{"name": "s", "cron": "@yearly", "run": run}, "run."+at)
				w.refuses(t, http.MethodPost, "/v1/schedules", obj{"name": "s", "cron": "@yearly", "pipeline": pipe},
					"pipeline."+at)
			}
		}
		for _, path := range []string{"runs", "templates", "schedules"} {
			if got := w.want(http.StatusOK, http.MethodGet, "/v1/"+path, nil); got["total"].(interface{ String() string }).
				String() != "0" {
				t.Errorf("%s were stored: %v", path, got)
			}
		}
		if kept := w.Column("SELECT ref FROM notify_targets"); len(kept) != 0 {
			t.Errorf("%d targets were kept", len(kept))
		}
	})
}
