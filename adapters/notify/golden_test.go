package notify_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	adapter "github.com/writ-automation/writ/adapters/notify"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

// sample is the failed run of the fixtures.
func sample(edit ...func(*runs.Run)) notify.Message {
	began := time.Date(2025, 3, 4, 5, 6, 7, 891011000, time.UTC)
	r := &runs.Run{
		ID: "run_01jnfq3m5h8k2v4x6z7b9c0d1e", Name: "Nightly patch", Status: runs.Failed,
		Spec:  runs.Spec{Tool: "ansible", Playbook: "site.yml"},
		Actor: actor.Actor{Type: actor.User, ID: "usr_1", Name: "ada"}, CreatedAt: began.Add(-time.Minute), StartedAt: began,
		EndedAt: began.Add(192 * time.Second),
		Error:   "the playbook ended with exit code 2: 1 < 2 & *all* of @web",
		Hosts: runs.HostCounts{runs.HostChanged: 3, runs.HostFailed: 1,
			runs.HostOK: 12, runs.HostUnreachable: 0},
		Warnings: []runs.Warning{{Code: runs.WarnHostsUnreachable}, {Code: runs.WarnLogTruncated}},
	}
	for _, fn := range edit {
		fn(r)
	}
	record := json.RawMessage(
		`{"id": "run_01jnfq3m5h8k2v4x6z7b9c0d1e", "status": "failed", "number": 12345678901234567890, "extra_vars": {"a": "[redacted]"}}`)
	return notify.Message{Delivery: "nty_01jnfq3m5h8k2v4x6z7b9c0d1e", Event: notify.Finished, Run: r, Record: record}
}

// held is the same run while it waits for approval.
func held() notify.Message {
	m := sample(func(r *runs.Run) {
		r.Status, r.StartedAt, r.EndedAt, r.Error, r.Hosts, r.Warnings = runs.PendingApproval, time.Time{}, time.Time{}, "",
			nil, nil
		r.Name, r.Approvals = "", &runs.Approvals{Holds: []runs.Hold{{ID: "pol_1", Name: "Change <freeze>"}}}
	})
	m.Event = notify.Held
	return m
}

// drifted is a dry run that found new drift.
func drifted() notify.Message {
	m := sample(func(r *runs.Run) { r.Status, r.Spec.DryRun, r.Error, r.Warnings = runs.Succeeded, true, "", nil })
	m.Event, m.Link = notify.DriftFound, "https://writ.example.com/ui/drift?target=a_b"
	m.Drift = &estate.DriftFound{RunID: m.Run.ID, TargetID: "a_b", Playbook: "site.yml", New: 30, HostCount: 12,
		Hosts: []string{"web<1>", "web2", "web3", "web4", "web5", "web6"}, At: m.Run.EndedAt}
	return m
}

func golden(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestPayloads compares requests with fixtures written by hand from the documentation of the services.
func TestPayloads(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"webhook", "slack", "mattermost", "rocketchat", "discord", "teams", "pagerduty",
		"grafana"} {
		for name, m := range map[string]notify.Message{"failed": sample(), "held": held(), "drift": drifted()} {
			if name == "drift" && kind == "pagerduty" {
				continue // it does not hear of drift
			}
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				c, s, to := connect(t, kind)
				if err := c.Deliver(t.Context(), to, m); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(value(t, golden(t, kind+"_"+name+".json")), value(t, string(s.last(t).body))); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// value decodes JSON and keeps every digit of numbers.
func value(t testing.TB, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// TestWebhookHeaders checks the headers, and the order of members and the digits in the body.
func TestWebhookHeaders(t *testing.T) {
	t.Parallel()
	c, s, to := connect(t, "webhook")
	for name, m := range map[string]notify.Message{"run.finished": sample(), "run.held": held(),
		"drift.found": drifted()} {
		if err := c.Deliver(t.Context(), to, m); err != nil {
			t.Fatal(err)
		}
		got := s.last(t)
		if got.header.Get("Writ-Event") != name || got.header.Get("Writ-Delivery") != m.Delivery ||
			got.header.Get("Writ-Signature") != signature(got.body) {
			t.Errorf("headers %v", got.header)
		}
		drift := ""
		if m.Drift != nil {
			drift = `"drift":{"run_id":"run_01jnfq3m5h8k2v4x6z7b9c0d1e","target_id":"a_b","playbook":"site.yml","new":30,` +
				`"host_count":12,"hosts":["web\u003c1\u003e","web2","web3","web4","web5","web6"],"at":"2025-03-04T05:09:19.891011Z"},`
		}
		if want := `{"event":"` + name + `",` + drift + string(m.Record[1:]); string(got.body) != want {
			t.Errorf("the body is %s", got.body)
		}
	}
	for record, want := range map[string]string{
		" {} ": `{"event":"run.finished"}`, `{"event":"mine","a":1}`: `{"a":1,"event":"run.finished"}`,
		"\n{ \"a\": 1.0 }\n": `{"event":"run.finished", "a": 1.0 }`,
	} {
		m := sample()
		m.Record = json.RawMessage(record)
		if err := c.Deliver(t.Context(), to, m); err != nil || string(s.last(t).body) != want {
			t.Errorf("%q: %s, %v", record, s.last(t).body, err)
		}
	}
	for _, record := range []string{"", "null", "[]", "1", `"c4nary"`, "{", "c4nary"} {
		m := sample()
		m.Record = json.RawMessage(record)
		if err := c.Deliver(t.Context(), to, m); err == nil || strings.Contains(err.Error(), "c4nary") {
			t.Errorf("%q: %v", record, err)
		}
	}
}

// TestWebhookUnsigned checks that a target without a key gets no signature.
func TestWebhookUnsigned(t *testing.T) {
	t.Parallel()
	c, s, to := connect(t, "webhook")
	s.validate = takeAll
	to.Key = ""
	if err := c.Deliver(t.Context(), to, sample()); err != nil {
		t.Fatal(err)
	}
	if h := s.last(t).header; h["Writ-Signature"] != nil {
		t.Errorf("signed with nothing: %v", h)
	}
}

// TestNtfyMessage checks the headers of a topic.
func TestNtfyMessage(t *testing.T) {
	t.Parallel()
	c, s, to := connect(t, "ntfy")
	type seen struct{ title, priority, tags, body string }
	for _, x := range []struct {
		m    notify.Message
		want seen
	}{
		{sample(), seen{"Nightly patch failed", "high", "x", golden(t, "ntfy_failed.txt")}},
		{held(), seen{"ansible site.yml waits for approval", "default", "hourglass", golden(t, "ntfy_held.txt")}},
		{drifted(), seen{"Nightly patch found new drift", "default", "warning", golden(t, "ntfy_drift.txt")}},
		{sample(status(runs.Interrupted)), seen{"Nightly patch was interrupted", "high", "x", ""}},
		{sample(status(runs.Succeeded)), seen{"Nightly patch succeeded", "default", "white_check_mark", ""}},
		{sample(status(runs.Canceled)), seen{"Nightly patch was canceled", "default", "warning", ""}},
		{sample(func(r *runs.Run) { r.Name = "Größe =?x?=" }),
			seen{"=?utf-8?b?R3LDtsOfZSA9ID94Pz0gZmFpbGVk?=", "high", "x", ""}},
	} {
		if err := c.Deliver(t.Context(), to, x.m); err != nil {
			t.Fatal(err)
		}
		r := s.last(t)
		got := seen{r.header.Get("Title"), r.header.Get("Priority"), r.header.Get("Tags"), strings.TrimSpace(string(r.body))}
		if x.want.body = strings.TrimSpace(x.want.body); x.want.body == "" {
			got.body = ""
		}
		if got != x.want {
			t.Errorf("got %+v\nwant %+v", got, x.want)
		}
	}
}

func status(s runs.Status) func(*runs.Run) { return func(r *runs.Run) { r.Status = s } }

// TestTwilioForm compares a message, and sends one through a messaging service.
func TestTwilioForm(t *testing.T) {
	t.Parallel()
	c, s, to := connect(t, "twilio")
	if err := c.Deliver(t.Context(), to, sample()); err != nil {
		t.Fatal(err)
	}
	if got := s.heard()[0]; got != "Nightly patch failed\n"+strings.TrimSpace(golden(t, "ntfy_failed.txt")) ||
		!strings.Contains(string(s.last(t).body), "From=%2B15550002222") {
		t.Errorf("the message is %q", got)
	}
	service := "MG0123456789abcdef0123456789abcdef"
	c, s, to = connect(t, "twilio", func(c *adapter.Config) { c.Twilio.From = service })
	if err := c.Deliver(t.Context(), to, sample()); err != nil {
		t.Fatal(err)
	}
	if body := string(s.last(t).body); !strings.Contains(body, "MessagingServiceSid="+service) {
		t.Errorf("the form is %s", body)
	}
}

// TestGrafanaAddress tries every form of an instance's address.
func TestGrafanaAddress(t *testing.T) {
	t.Parallel()
	for suffix, want := range map[string]string{
		"": "/api/annotations", "/": "/api/annotations", "/grafana": "/grafana/api/annotations",
		"/grafana/":        "/grafana/api/annotations",
		"/api/annotations": "/api/annotations", "/api/annotations/": "/api/annotations",
		"/g/api/annotations?orgId=2": "/g/api/annotations?orgId=2", "/?orgId=2": "/api/annotations?orgId=2",
	} {
		path, query, _ := strings.Cut(want, "?")
		s := serve(t, path, validateGrafana)
		c := channel(t, "grafana", adapter.Config{Egress: home(), Version: "1.2.3"})
		if err := c.Deliver(t.Context(), target("grafana", s.url+suffix), sample()); err != nil {
			t.Errorf("%q: %v", suffix, err)
		} else if got := s.last(t).query; got != query {
			t.Errorf("%q: the query is %q", suffix, got)
		}
	}
}

// TestSeverity checks that a run with an unknown result is a worse incident than a failed run.
func TestSeverity(t *testing.T) {
	t.Parallel()
	c, s, to := connect(t, "pagerduty")
	for st, want := range map[runs.Status]string{runs.Failed: `"severity":"error"`,
		runs.Interrupted: `"severity":"critical"`} {
		if err := c.Deliver(t.Context(), to, sample(status(st))); err != nil ||
			!strings.Contains(string(s.last(t).body), want) {
			t.Errorf("%s: %s, %v", st, s.last(t).body, err)
		}
	}
}

// within delivers the sample with a timeout.
func within(t testing.TB, d time.Duration, c notify.Channel, to notify.Target) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	begin := time.Now()
	err := c.Deliver(ctx, to, sample())
	if took := time.Since(begin); took > d+20*time.Second {
		t.Errorf("it took %s", took)
	}
	return err
}
