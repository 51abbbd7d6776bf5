package notify

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

const (
	failedAlone   = "the target is notified only of failed runs"
	incidentAlone = "this kind is notified only of failed and interrupted runs"
)

// TestTheServersTargets checks that the server's targets receive every run, or only failed ones if a flag says so.
func TestTheServersTargets(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		o := harness.Options{DB: dbURL, Dir: t.TempDir()}
		for on, good := range map[string]string{"finish": "delivered 1", "failure": "skipped 0"} {
			t.Run(on, func(t *testing.T) {
				in := newSink(t, nil)
				// Equal targets count once.
				o.Flags = []string{
					"--notify-webhook", in.URL + "/a?k=1", "--notify-webhook", in.URL + "/b", "--notify-webhook", in.URL + "/b",
					"--notify-grafana", in.URL + "/g,to,ken", "--notify-on", on,
				}
				w := newFixture(t, o)
				o.Admin = w.Admin
				defer w.Stop()
				id := w.Submit(script("true")).ID
				w.ends(id, "succeeded")
				same(t, "succeeded", w.summary(id, 3),
					"run.finished server grafana "+good, "run.finished server webhook "+good, "run.finished server webhook "+good)
				for _, n := range w.notifications(id) {
					if n.Target != in.URL+"/***" || on == "failure" && n.Reason != failedAlone {
						t.Errorf("%+v", n)
					}
				}
				if on == "failure" && len(in.all()) != 0 {
					t.Errorf("%d letters came about a success", len(in.all()))
				}
				id = w.Submit(script("exit 1")).ID
				w.ends(id, "failed")
				same(t, "failed", w.summary(id, 3), "run.finished server grafana delivered 1",
					"run.finished server webhook delivered 1",
					"run.finished server webhook delivered 1")
				want := 1 + count(on == "finish")
				for _, path := range []string{"/a?k=1", "/b", "/g,to/api/annotations"} {
					if got := in.await(path, want); len(got) != want {
						t.Errorf("%d letters came to %s", len(got), path)
					}
				}
				if got := in.at("/g,to/api/annotations")[0].header.Get("Authorization"); got != "Bearer ken" {
					t.Errorf("the token of an address with commas: %q", got)
				}
			})
		}
	})
}

// TestTargetsOfATemplate checks that runs of a launch, a schedule and a rerun notify the template's targets.
func TestTargetsOfATemplate(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		in := newSink(t, nil)
		w := newFixture(t, harness.Options{DB: dbURL})
		tpl := w.id("/v1/templates", obj{"name": "t", "tool": "bash", "command": "true", "notifications": []obj{
			{"kind": "webhook", "url": in.URL + "/tpl", "key": key}, failing(hook(in.URL + "/failures")),
			{"kind": "pagerduty", "key": "routing"},
		}})
		schedules := map[string]string{ // with the path to which its runs are reported
			w.id("/v1/schedules", obj{"name": "of the template", "cron": "@yearly", "template_id": tpl}):             "/tpl",
			w.id("/v1/schedules", obj{"name": "own", "cron": "@yearly", "run": script("true", hook(in.URL+"/own"))}): "/own",
			w.id("/v1/schedules", obj{"name": "pipe", "cron": "@yearly", "pipeline": obj{
				"steps": []obj{{"name": "a", "tool": "bash", "command": "true"}}, "notifications": []obj{hook(in.URL + "/pipe")},
			}}): "/pipe",
		}
		launched := w.want(http.StatusCreated, http.MethodPost, "/v1/templates/"+tpl+"/launch", obj{})["id"].(string)
		w.ends(launched, "succeeded")
		again := w.Act("/v1/runs/" + launched + "/rerun").ID
		w.ends(again, "succeeded")
		w.due()
		all := map[string]string{launched: "/tpl", again: "/tpl"}
		for id, path := range schedules {
			harness.Eventually(t, awhile, path+" fires", func() bool {
				got := w.want(http.StatusOK, http.MethodGet, "/v1/schedules/"+id, nil)
				if text, failed := got["last_error"]; failed {
					t.Fatalf("%s: %v", path, text)
				}
				run, _ := got["last_run_id"].(string)
				all[run] = path
				delete(all, "")
				return run != ""
			})
		}
		for id, path := range all {
			w.ends(id, "succeeded")
			if path != "/tpl" {
				same(t, path, w.summary(id, 1), "run.finished run webhook delivered 1")
				continue
			}
			same(t, id, w.summary(id, 3), "run.finished run pagerduty skipped 0", "run.finished run webhook delivered 1",
				"run.finished run webhook skipped 0")
			for _, n := range w.notifications(id) {
				switch {
				case n.Kind == "pagerduty" && (n.Reason != incidentAlone || n.Target != "***"),
					n.Kind == "webhook" && n.Status == "skipped" && n.Reason != failedAlone:
					t.Errorf("%+v", n)
				}
			}
		}
		for id, path := range all {
			if !slices.ContainsFunc(in.await(path, 1), func(l letter) bool { return decoded(t, l.body)["id"] == id }) {
				t.Errorf("nothing of %s came to %s", id, path)
			}
		}
		for _, l := range in.at("/tpl") {
			if !l.signed(key) {
				t.Errorf("not signed: %v", l.header)
			}
		}
		if got := in.at("/failures"); len(got) != 0 {
			t.Errorf("%d successes were told as failures", len(got))
		}
	})
}

// due moves the next slot of each schedule into the past, so that no test waits for it. It saves another schedule,
// which makes the server check for due slots. The schedules should be rare: a slot that comes while the run of the one
// before is not finished is missed.
func (w *fixture) due() {
	w.t.Helper()
	w.Alter("UPDATE schedules SET next_run_at = ?", -time.Second)
	w.id("/v1/schedules", obj{"name": "last", "cron": "@yearly", "run": script("true")})
}

// TestHeldRunsAreAnnounced checks the notification of a required decision, and of its result.
func TestHeldRunsAreAnnounced(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		in := newSink(t, nil)
		w := newFixture(t, harness.Options{DB: dbURL, Flags: []string{"--notify-slack", in.URL + "/slack"}})
		for verb, end := range map[string]string{"approve": "succeeded", "reject": "rejected"} {
			body := script("true", hook(in.URL+"/"+verb), failing(hook(in.URL+"/failures")),
				obj{"kind": "pagerduty", "key": "routing"})
			body["require_approval"] = true
			id := w.Submit(body).ID
			held := []string{"run.held run pagerduty skipped 0", "run.held run webhook delivered 1",
				"run.held run webhook skipped 0",
				"run.held server slack delivered 1"}
			same(t, verb, w.summary(id, 4), held...)
			l := in.await("/"+verb, 1)[0]
			if got := decoded(t, l.body); l.header.Get("Writ-Event") != "run.held" || got["event"] != "run.held" ||
				got["id"] != id || got["status"] != "pending_approval" {
				t.Errorf("%v %s", l.header, l.body)
			}
			w.answer(http.StatusOK, http.MethodPost, "/v1/runs/"+id+"/"+verb, nil)
			w.ends(id, end)
			same(t, verb, w.summary(id, 8), append([]string{"run.finished run pagerduty skipped 0",
				"run.finished run webhook delivered 1",
				"run.finished run webhook skipped 0", "run.finished server slack delivered 1"}, held...)...)
			list := in.await("/"+verb, 2)
			if got := decoded(t, list[1].body); len(list) != 2 || got["event"] != "run.finished" || got["status"] != end ||
				list[0].header.Get("Writ-Delivery") == list[1].header.Get("Writ-Delivery") {
				t.Errorf("%v %s", list[1].header, list[1].body)
			}
		}
		text := ""
		for _, l := range in.await("/slack", 4) {
			text += string(l.body)
		}
		if strings.Count(text, "waits for approval") < 2 || len(in.at("/failures")) != 0 {
			t.Errorf("%d failures, and: %s", len(in.at("/failures")), text)
		}
		if got := w.settled(w.Await(w.Submit(obj{"tool": "bash", "command": "true"}).ID).ID, 1); got[0].Kind != "slack" {
			t.Errorf("%+v", got)
		}
	})
}

// TestAFlagThatMakesNoSenseStopsTheStart checks that the error contains nothing of the target.
func TestAFlagThatMakesNoSenseStopsTheStart(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		flags []string
		names string
	}{
		{[]string{"--notify-webhook", "ftp://c4nary.example.com/x"}, "notify-webhook"},
		{[]string{"--notify-slack", "c4nary"}, "notify-slack"},
		{[]string{"--notify-grafana", "https://g.example.com/c4nary"}, "notify-grafana"},
		{[]string{"--notify-email", "c4nary"}, "notify-email"},
		{[]string{"--notify-email", "ops@example.com"}, "smtp-addr"},
		{[]string{"--notify-twilio", "+49123"}, "twilio-sid"},
		{[]string{"--notify-on", "success"}, "notify-on"},
		{[]string{"--smtp-addr", "127.0.0.1:25", "--smtp-from", "x@example.com", "--smtp-username", "u"}, "smtp-username"},
		{[]string{"--allow-private-egress", "everything"}, "allow-private-egress"},
	} {
		s, err := harness.Launch(t, harness.Options{Flags: c.flags})
		if err == nil || !strings.Contains(err.Error(), c.names) {
			t.Errorf("%d %v: %v", i, c.flags, err)
		}
		if err == nil {
			s.Stop()
		}
		if strings.Contains(fmt.Sprint(err), "c4nary") {
			t.Errorf("the start shows the target: %v", err)
		}
	}
}
