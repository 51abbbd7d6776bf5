package notify_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	module "github.com/writ-automation/writ/modules/notify"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// plainly is a sealer that seals nothing.
type plainly struct{}

func (plainly) Seal(_ context.Context, record string, plain []byte) ([]byte, error) {
	return append([]byte(record+" "), plain...), nil
}

func (plainly) Open(_ context.Context, record string, sealed []byte) ([]byte, error) {
	plain, ok := strings.CutPrefix(string(sealed), record+" ")
	if !ok {
		return nil, errors.New("sealed for another record")
	}
	return []byte(plain), nil
}

func (plainly) Digest(_ context.Context, purpose string, text []byte) ([]byte, error) {
	return append([]byte(purpose+" "), text...), nil
}

// TestModule starts and stops the application with a target that the module seals.
func TestModule(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	b := setup(t, d, nil)
	p := b.params
	var got struct {
		fx.In

		Reader        notify.Reader
		Targets       notify.Targets
		Subscriptions []events.Subscription `group:"events.subscriptions"`
	}
	app := fx.New(fx.NopLogger, module.Module,
		fx.Supply(module.Config{Server: []notify.Target{target("ntfy")}},
			fx.Annotate(channel{b.fixture, "slack"}, fx.As(new(notify.Channel)), fx.ResultTags(`group:"notify.channels"`)),
			fx.Annotate(channel{b.fixture, "ntfy"}, fx.As(new(notify.Channel)), fx.ResultTags(`group:"notify.channels"`))),
		fx.Provide(
			func() (notify.Store, notify.TargetStore, runs.Store, runs.ObjectStore, secrets.Sealer, secrets.Digester) {
				return b.store, b.store, b.runs, b.runs, plainly{}, plainly{}
			},
			func() (access.Guard, notify.Renderer, notify.Meter, map[string]extension.Notifier) {
				return b.fixture, b.fixture, b.fixture, map[string]extension.Notifier{"siem": b.fixture}
			},
			func() (tx.Unit, events.Signals, ids.Generator, *slog.Logger) { return p.Unit, p.Signals, p.IDs, p.Log },
		),
		fx.Invoke(func(in struct {
			fx.In

			Reader        notify.Reader
			Targets       notify.Targets
			Subscriptions []events.Subscription `group:"events.subscriptions"`
		}) {
			got.Reader, got.Targets, got.Subscriptions = in.Reader, in.Targets, in.Subscriptions
		}))
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	sealed, err := got.Targets.Seal(t.Context(), []runs.Notification{{Kind: "slack", URL: "https://kept.example/S3CRET"}})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := got.Targets.Save(t.Context(), sealed)
	if err != nil {
		t.Fatal(err)
	}
	r := b.add(runs.Failed, kept)
	if len(got.Subscriptions) != 3 {
		t.Fatalf("%+v", got.Subscriptions)
	}
	for _, s := range got.Subscriptions {
		if s.Event == (runs.Finished{}).EventName() {
			b.Finished = s
		}
	}
	b.ends(r)
	same(t, "what became of them", []string{"server ntfy delivered", "run slack delivered", "extension siem delivered"},
		b.settled(r))
	if list, total, err := got.Reader.List(t.Context(), r.ID, page.Window{}); err != nil || total != 3 ||
		list[1].Target.URL != "https://kept.example/***" {
		t.Error(list, total, err)
	}
	if err := app.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	var where []string
	for _, x := range b.fixture.heard() {
		where = append(where, x.To.URL.Reveal())
	}
	if d := cmp.Diff(map[string]bool{"https://kept.example/S3CRET": true, "https://ntfy.example/S3CRET": true},
		set(where)); d != "" {
		t.Error(d)
	}
}

func set(list []string) map[string]bool {
	out := map[string]bool{}
	for _, s := range list {
		out[s] = true
	}
	return out
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		target notify.Target
		field  string
	}{
		{notify.Target{Kind: "pigeon", To: "S3CRET"}, "notify"}, {notify.Target{Kind: "slack"}, "notify-slack"},
		{notify.Target{Kind: "slack", URL: "S3CRET"}, "notify-slack"},
		{notify.Target{Kind: "grafana", URL: "https://a.example/S3CRET"}, "notify-grafana"},
		{notify.Target{Kind: "email", To: "S3CRET"}, "notify-email"},
		{notify.Target{Kind: "pagerduty", Key: "S3CRET\n"}, "notify-pagerduty"},
		{notify.Target{Kind: "webhook", URL: "https://a.example/***"}, "notify-webhook"},
	} {
		err := module.Config{Server: []notify.Target{target("slack"), c.target}}.Validate()
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Location != c.field ||
			strings.Contains(f.Message, "S3CRET") {
			t.Errorf("%s: %v", c.field, err)
		}
	}
	var all []notify.Target
	for _, k := range notify.Kinds() {
		all = append(all, target(k.Name))
	}
	if err := (module.Config{Server: all, OnFailure: true}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.Open(t, db.SQLite, migrations.FS), nil)
	for name, edit := range map[string]func(*module.Params){
		"twice a kind": func(p *module.Params) {
			p.Channels = append(p.Channels, channel{b.fixture, "slack"})
		},
		"a setting": func(p *module.Params) { p.Config.Server = []notify.Target{{Kind: "slack"}} },
	} {
		p := b.params
		edit(&p)
		if _, err := module.New(p); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	p := b.params
	p.Log, p.Meter, p.Notifiers, p.Channels = nil, nil, nil, nil
	if _, err := module.New(p); err != nil {
		t.Error(err)
	}
}
