package notify

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/notify"
)

// each returns a target of every kind whose receiver can be below an address, by its kind.
func each(base string) map[string]obj {
	out := map[string]obj{"email": {"kind": "email", "to": "Ops <ops@example.com>, dev@example.com"}}
	for _, kind := range []string{"webhook", "slack", "mattermost", "rocketchat", "discord", "teams", "ntfy", "grafana"} {
		out[kind] = obj{"kind": kind, "url": base + "/" + kind + "/t0ken?x=y"}
	}
	out["grafana"] = obj{"kind": "grafana", "url": base + "/grafana/t0ken", "key": "gr4fana-key"}
	return out
}

// TestEveryKind sends one notification of each kind, and none of the kinds without an account.
func TestEveryKind(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		in, post := newSink(t, nil), newPostOffice(t)
		w := newFixture(t, harness.Options{DB: dbURL, Env: []string{"WRIT_SMTP_PASSWORD=m4il-password"}, Flags: []string{
			"--smtp-addr", post.addr, "--smtp-from", "Writ <writ@example.com>", "--smtp-username", "mailer",
		}})
		targets := []obj{{"kind": "twilio", "to": "+4912345"}}
		kinds := each(in.URL)
		kinds["slack"] = failing(kinds["slack"])
		for _, n := range kinds {
			targets = append(targets, n)
		}
		body := script("exit 7", targets...)
		body["name"], body["extra_vars"] = "nightly <b> & more", obj{"region": "eu-c4nary", "password": "p4ssword"}
		body["env"], body["labels"] = obj{"PLACE": "env-c4nary"}, obj{"team": "core"}
		id := w.Submit(body).ID
		w.ends(id, "failed")
		want := map[string]bool{}
		for _, n := range w.settled(id, 10) {
			want[n.Kind] = true
			switch {
			case n.Kind == "twilio":
				if n.Status != "failed" || n.Attempts != 1 || n.Target != "+4912345" || !strings.Contains(n.Reason, "account") {
					t.Errorf("%+v", n)
				}
			case n.Status != "delivered" || n.Attempts != 1:
				t.Errorf("%+v", n)
			case n.Kind == "email" && n.Target != "Ops <ops@example.com>, dev@example.com",
				n.Kind != "email" && n.Target != in.URL+"/***":
				t.Errorf("%s is shown as %q", n.Kind, n.Target)
			}
		}
		for _, k := range notify.Kinds() {
			if !want[k.Name] && k.Name != "pagerduty" {
				t.Errorf("no %s", k.Name)
			}
		}
		w.mailed(t, post, id)
		for _, l := range in.all() {
			checkLetter(t, id, l)
		}
		if got := in.at("/slack/t0ken?x=y"); len(got) != 1 || len(in.all()) != 8 {
			t.Errorf("%d letters came, %d of them to slack", len(in.all()), len(got))
		}
	})
}

// checkLetter checks that a letter has the form of its kind. The tests of adapters/notify check the details.
func checkLetter(t *testing.T, id string, l letter) {
	t.Helper()
	kind := strings.Split(l.path, "/")[1]
	text, media := string(l.body), l.header.Get("Content-Type")
	for _, hidden := range []string{"eu-c4nary", "p4ssword", "t0ken", "gr4fana-key"} {
		if strings.Contains(text, hidden) {
			t.Errorf("%s tells %q: %s", kind, hidden, text)
		}
	}
	if !strings.Contains(text, id) || kind != "webhook" && strings.Contains(text, "env-c4nary") {
		t.Errorf("%s: %s", kind, text)
	}
	if kind == "ntfy" {
		if l.header.Get("Priority") != "high" || l.header.Get("Title") == "" || !strings.HasPrefix(media, "text/plain") {
			t.Errorf("%v %s", l.header, text)
		}
		return
	}
	if media != "application/json" {
		t.Errorf("%s: %s", kind, media)
	}
	member := map[string]string{
		"webhook": "event", "slack": "text", "mattermost": "attachments", "rocketchat": "attachments", "discord": "embeds",
		"teams": "attachments", "grafana": "tags",
	}[kind]
	if body := decoded(t, l.body); member == "" || body[member] == nil {
		t.Errorf("%s has no %s: %s", kind, member, text)
	}
	if kind == "grafana" && (!strings.HasPrefix(l.path, "/grafana/t0ken/api/annotations") ||
		l.header.Get("Authorization") != "Bearer gr4fana-key") {
		t.Errorf("%s %v", l.path, l.header)
	}
}

// mailed checks the only mail that was sent.
func (w *fixture) mailed(t *testing.T, post *postOffice, id string) {
	t.Helper()
	list := post.taken()
	if len(list) != 1 {
		t.Fatalf("%d mails", len(list))
	}
	m := list[0]
	if login := "PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00mailer\x00m4il-password")); m.login != login {
		t.Errorf("the mail server heard the account %q", m.login)
	}
	if !strings.HasPrefix(m.from, "FROM:<writ@example.com>") || len(m.to) != 2 ||
		!strings.HasPrefix(m.to[0], "TO:<ops@example.com>") {
		t.Errorf("from %q to %q", m.from, m.to)
	}
	for _, part := range []string{"Subject: Writ: ", "text/plain", "text/html", id, "<nty_", "&lt;b&gt;"} {
		if !strings.Contains(m.text, part) {
			t.Errorf("the mail lacks %q:\n%s", part, m.text)
		}
	}
	if strings.Contains(m.text, "c4nary") || strings.Contains(m.text, "p4ssword") {
		t.Errorf("the mail tells too much:\n%s", m.text)
	}
}

// TestIncidents plans targets that receive only failed and interrupted runs. The server is busy with receivers that
// hang, and is stopped before it delivers the incident, so that this test sends nothing to the real service.
func TestIncidents(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		in := newSink(t, hangs)
		w := newFixture(t, harness.Options{DB: dbURL})
		incident, strict := obj{"kind": "pagerduty", "key": "r0uting"}, failing(obj{"kind": "pagerduty", "key": "r0uting-2"})
		quiet := script("true", incident, strict)
		quiet["queue"] = "parked"
		canceled := w.Submit(quiet).ID
		w.answer(http.StatusOK, http.MethodPost, "/v1/runs/"+canceled+"/cancel", nil)
		good := w.Submit(script("true", incident, strict)).ID
		for id, end := range map[string]string{canceled: "canceled", good: "succeeded"} {
			w.ends(id, end)
			for _, n := range w.settled(id, 2) {
				if n.brief() != "run.finished run pagerduty skipped 0" || n.Target != "***" ||
					n.Reason != incidentAlone && n.Reason != failedAlone {
					t.Errorf("%+v", n)
				}
			}
		}
		var busy []obj // for ten seconds each, of which the server bears eight at once
		for i := range 100 {
			busy = append(busy, hook(in.URL+fmt.Sprint("/", i)))
		}
		w.Submit(script("true", busy...))
		harness.Eventually(t, awhile, "the server is busy", func() bool { return len(in.all()) >= 8 })
		bad := w.Submit(script("exit 1", incident, strict)).ID
		w.ends(bad, "failed")
		var list []notification
		harness.Eventually(t, awhile, "the incidents are planned", func() bool {
			list = w.notifications(bad)
			return len(list) == 2
		})
		w.Kill()
		if slices.ContainsFunc(list, func(n notification) bool {
			return n.brief() != "run.finished run pagerduty pending 0" || n.Target != "***"
		}) {
			t.Errorf("%+v", list)
		}
	})
}
