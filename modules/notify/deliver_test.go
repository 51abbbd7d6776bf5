package notify_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	module "github.com/writ-automation/writ/modules/notify"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

// TestDelivered sends one event of every kind and checks what the channel receives.
func TestDelivered(t *testing.T) {
	eachEngine(t, func(p *module.Params) {
		p.Config.Server = []notify.Target{target("slack"), target("pagerduty")}
		p.Notifiers = map[string]extension.Notifier{"siem": p.Meter.(*fixture)}
	}, func(t *testing.T, b *bundle) {
		b.run()
		r := b.add(runs.Failed, []runs.Notification{
			{Kind: "webhook", URL: "https://own.example/***", Key: "***", Ref: "ntg_1"}, {Kind: "email", To: "a@example.org"},
			{Kind: "ntfy", URL: "https://old.example/topic"},
		}, func(r *runs.Run) { r.Name, r.Error = "nightly", "it broke" })
		b.ends(r)
		same(t, "what became of them", []string{
			"server slack delivered", "server pagerduty delivered", "run webhook delivered", "run email delivered",
			"run ntfy delivered",
			"extension siem delivered",
		}, b.settled(r))
		got := map[string]notify.Target{}
		ids := map[string]string{}
		for _, d := range b.list(r) {
			ids[d.Kind] = d.ID
		}
		for _, x := range b.fixture.heard() {
			got[x.To.Kind] = x.To
			if x.Message.Event != notify.Finished || x.Message.Delivery != ids[x.To.Kind] || x.Message.Run.ID != r.ID ||
				!json.Valid(x.Message.Record) {
				t.Errorf("%+v", x.Message)
			}
		}
		want := map[string]notify.Target{
			"slack": target("slack"), "pagerduty": target("pagerduty"), "email": {Kind: "email", To: "a@example.org"},
			"webhook": {Kind: "webhook", URL: "https://opened.example/ntg_1"},
			"ntfy":    {Kind: "ntfy", URL: "https://old.example/topic"},
		}
		for kind, to := range want {
			if got[kind] != to || got[kind].URL.Reveal() != to.URL.Reveal() || got[kind].Key.Reveal() != to.Key.Reveal() {
				t.Errorf("%s went to %+v", kind, got[kind])
			}
		}
		b.fixture.mu.Lock()
		defer b.fixture.mu.Unlock()
		if len(b.fixture.ended) != 1 || len(got) != len(want) {
			t.Fatalf("%+v, %d", b.fixture.ended, len(got))
		}
		e := b.fixture.ended[0]
		if e.Delivery != ids["siem"] || e.ID != r.ID || e.Name != "nightly" || e.Tool != "bash" || e.Status != "failed" ||
			e.Error != "it broke" ||
			!e.StartedAt.Equal(start) || !e.EndedAt.Equal(start.Add(time.Minute)) || !json.Valid(e.Record) {
			t.Errorf("%+v", e)
		}
	})
}

// TestNotDelivered uses targets that cannot be reached, of every kind.
func TestNotDelivered(t *testing.T) {
	eachEngine(t, func(p *module.Params) {
		p.Config.Server = []notify.Target{target("slack"), target("discord")}
	}, func(t *testing.T, b *bundle) {
		b.fixture.opens["ntg_lost"] = secrets.KeyLost.New("no key")
		b.fixture.opens["ntg_gone"] = notify.TargetNotFound.New("no target")
		b.fixture.fails = func(to notify.Target) error {
			if to.Kind != "discord" && to.Kind != "ntfy" {
				return nil
			}
			return notify.Refused.New("POST %s\nis refused for %s", to.URL.Reveal(), to.Key.Reveal())
		}
		r := b.add(runs.Failed, []runs.Notification{
			{Kind: "webhook", URL: "https://own.example/***", Ref: "ntg_lost"},
			{Kind: "webhook", URL: "https://own.example/***", Ref: "ntg_gone"},
			{Kind: "webhook", URL: "https://old.example/***"},
			{Kind: without, URL: "https://old.example/***", Key: "***", Ref: "ntg_1"},
			{Kind: "ntfy", URL: "https://user:S3CRET@old.example/S3CRET?S3CRET#S3CRET", Key: "KEYS3CRET"},
		})
		b.ends(r)
		// A server with other flags and without notifiers delivers what was planned.
		other := setup(t, b.d, func(p *module.Params) { p.Config.Server = []notify.Target{target("discord")} })
		other.fixture.opens, other.fixture.fails = b.fixture.opens, b.fixture.fails
		other.run()
		same(t, "what became of them", []string{
			"server slack failed the server's target is no longer configured",
			"server discord failed POST *** is refused for",
			"run webhook failed the target is sealed under a key that this install does not have",
			"run webhook failed the target no longer exists",
			"run webhook failed only the mask of this target was stored",
			"run grafana failed this server delivers no notifications of the kind grafana",
			"run ntfy failed POST *** is refused for ***",
		}, other.settled(r))
		if err := other.Background.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		log := other.log.String()
		if n := strings.Count(log, "\n"); n != 7 || strings.Contains(log, "S3CRET") ||
			!strings.Contains(log, "https://old.example/***") {
			t.Errorf("%d lines: %s", n, log)
		}
	})
}

// TestNothingOfVariables checks that no delivery contains values of variables.
func TestNothingOfVariables(t *testing.T) {
	eachEngine(t, func(p *module.Params) {
		p.Config.Server = []notify.Target{target("webhook")}
		p.Notifiers = map[string]extension.Notifier{"siem": p.Meter.(*fixture)}
	}, func(t *testing.T, b *bundle) {
		b.run()
		r := b.add(runs.Failed, []runs.Notification{{Kind: "slack", URL: "https://old.example/C4NARY"}}, func(r *runs.Run) {
			r.Kind = runs.Pipeline
			r.Vars = runs.Vars{"plain": raw(`"C4NARY-1"`), "db_password": raw(`"C4NARY-2"`),
				"deep": raw(`{"token":"C4NARY-3","x":["C4NARY-4"]}`)}
			r.Outputs = runs.Vars{"copy": raw(`{"a":["C4NARY-2"]}`), "api_key": raw(`"C4NARY-5"`), "stays": raw("1")}
			r.Spec.Env = map[string]string{"A": "C4NARY-2", "B": "b"}
			r.Error = "the password C4NARY-2 is wrong"
			r.Warnings = []runs.Warning{{Code: "c", Message: "C4NARY-3"}}
			r.Graph = &runs.Graph{Vars: runs.Vars{"v": raw(`"C4NARY-6"`)}, Steps: []runs.StepState{{
				StepSpec: runs.StepSpec{Name: "s", ExtraVars: runs.Vars{"pw": raw(`"C4NARY-7"`), "secret": raw(`"C4NARY-8"`)}},
				Outputs:  runs.Vars{"o": raw(`"C4NARY-8"`)},
			}}}
		})
		b.ends(r)
		same(t, "what became of them", []string{"server webhook delivered", "run slack delivered",
			"extension siem delivered"}, b.settled(r))
		for _, x := range b.fixture.heard() {
			all, err := json.Marshal(x.Message)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(all), "C4NARY") || !strings.Contains(string(all), `"stays":1`) ||
				!strings.Contains(string(all), `"B":"b"`) {
				t.Errorf("%s", all)
			}
		}
		all, err := json.Marshal(b.fixture.ended)
		if err != nil || strings.Contains(string(all), "C4NARY") {
			t.Errorf("%s, %v", all, err)
		}
		if was, err := b.runs.ByID(t.Context(), r.ID); err != nil || string(was.Vars["plain"]) != `"C4NARY-1"` {
			t.Error(was, err)
		}
	})
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// TestDriftDelivered checks what a channel gets of new drift: the page that shows it, and nothing of variables. No
// extension is called.
func TestDriftDelivered(t *testing.T) {
	const address = "https://writ.example.org/x"
	eachEngine(t, func(p *module.Params) {
		p.Config.Server, p.Config.PublicURL = []notify.Target{target("slack")}, address
		p.Notifiers = map[string]extension.Notifier{"siem": p.Meter.(*fixture)}
	}, func(t *testing.T, b *bundle) {
		other := setup(t, b.d, func(p *module.Params) { p.Config.Server = []notify.Target{target("slack")} })
		for x, link := range map[*bundle]string{b: address + "/ui/drift?target=a%26b", other: ""} {
			r := b.add(runs.Running, nil, func(r *runs.Run) { r.Vars = runs.Vars{"token": raw(`"S3CRET"`)} })
			b.drifts(r, "msg_1")
			b.drifts(r, "msg_1")
			x.Background.Start()
			same(t, "what became of it", []string{"server slack delivered"}, b.settled(r))
			if err := x.Background.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			list := x.fixture.heard()
			if len(list) != 1 || len(x.fixture.ended) != 0 {
				t.Fatalf("%d messages, %d calls", len(list), len(x.fixture.ended))
			}
			m := list[0].Message
			same(t, "the drift", &estate.DriftFound{RunID: r.ID, TargetID: "a&b", New: 3, HostCount: 2,
				Hosts: []string{"web1", "web-[redacted]"}, At: start}, m.Drift)
			if m.Event != notify.DriftFound || m.Link != link || m.Run.ID != r.ID {
				t.Errorf("%+v", m)
			}
		}
	})
}

func TestRunGone(t *testing.T) {
	eachEngine(t, func(p *module.Params) { p.Config.Server = []notify.Target{target("slack")} },
		func(t *testing.T, b *bundle) {
			r, other := b.add(runs.Failed, nil), b.add(runs.Failed, nil)
			b.ends(r)
			err := b.d.Do(t.Context(), func(ctx context.Context) error {
				_, err := b.runs.PurgeRuns(ctx, start.Add(time.Hour), 1)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			b.ends(other)
			b.run()
			same(t, "the other run", []string{"server slack delivered"}, b.settled(other))
			same(t, "the run", 0, len(b.list(r)))
			same(t, "sent", 1, len(b.fixture.heard()))
			same(t, "the log", "", b.log.String())
		})
}

func TestReadOnly(t *testing.T) {
	eachEngine(t, func(p *module.Params) {
		p.Config = module.Config{ReadOnly: true, Server: []notify.Target{target("slack")}}
	}, func(t *testing.T, b *bundle) {
		b.run()
		r := b.add(runs.Failed, nil)
		b.ends(r)
		if err := b.Background.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if list := b.list(r); len(list) != 1 || list[0].Status != notify.Pending || len(b.fixture.heard()) != 0 {
			t.Errorf("%+v", list)
		}
	})
}

func TestReader(t *testing.T) {
	eachEngine(t, func(p *module.Params) {
		p.Config.Server = []notify.Target{target("slack"), target("ntfy"), target("email")}
	}, func(t *testing.T, b *bundle) {
		r := b.add(runs.Failed, nil, func(r *runs.Run) { r.Objects = []string{"prj_1", access.Queue(runs.DefaultQueue)} })
		b.ends(r)
		list, total, err := b.Reader.List(t.Context(), r.ID, page.Window{Offset: 1, Limit: 1})
		if err != nil || total != 3 || len(list) != 1 || list[0].Kind != "ntfy" || list[0].CreatedAt.IsZero() {
			t.Errorf("%+v, %d, %v", list, total, err)
		}
		missing := func(id string) {
			t.Helper()
			if list, total, err := b.Reader.List(t.Context(), id, page.Window{}); !runs.RunNotFound.Is(err) || len(list) != 0 ||
				total != 0 {
				t.Errorf("%s: %+v, %d, %v", id, list, total, err)
			}
		}
		missing("run_none")
		b.fixture.set(func() { b.fixture.levels["prj_1"] = access.None })
		missing(r.ID)
		b.fixture.set(func() { b.fixture.scope = access.Everything() })
		if _, total, err := b.Reader.List(t.Context(), r.ID, page.Window{}); err != nil || total != 3 {
			t.Error(total, err)
		}
		missing("run_none")
	})
}
