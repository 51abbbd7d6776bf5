package compose

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/outbox"
	"github.com/writ-automation/writ/platform/httpserver"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

// assembled puts a server together, starts it and stops it again.
func assembled(t *testing.T, invoke any, options ...Option) error {
	t.Helper()
	dir, err := openDataDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.close() })
	s := sampleSettings(t)
	s.Options, s.OIDC, s.SAML = options, OIDC{}, SAML{}
	front := httpserver.New(httpserver.Config{Addr: s.Addr}, s.Log)
	if err := front.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = front.Close() })
	list, err := serverOptions(&s, dir, front, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	replaced, _, err := s.replacements()
	if err != nil {
		return err
	}
	app := fx.New(base(&s.Executor, dir), list, replaced, fx.Invoke(invoke))
	return errors.Join(app.Err(), app.Start(t.Context()), app.Stop(t.Context()))
}

// TestAudience compares the audience for a process without subscribers with a server's subscribers.
func TestAudience(t *testing.T) {
	t.Parallel()
	extra := Subscribe(events.Subscription{Name: "extra", Event: "runs.run_started", Handle: nil})
	want := (&Executor{Options: []Option{extra}}).audience()
	got := outbox.NewAudience(nil)
	err := assembled(t, func(l listeners, x *Executor) {
		for _, s := range l.all(x) {
			got.Add(s.Event, s.Name)
		}
	}, Subscribe(events.On("extra", func(_ context.Context, _ string, _ runs.Started) error { return nil })))
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range []string{"runs.run_started", "runs.run_held", "runs.run_finished", "estate.drift_found"} {
		if diff := cmp.Diff(want.Of(event), got.Of(event)); diff != "" {
			t.Errorf("%s: %s", event, diff)
		}
	}
	if diff := cmp.Diff(want.All(), got.All()); diff != "" {
		t.Error(diff)
	}
}

// doubles are replacements of each port that can be replaced.
type (
	logs     struct{ runs.LogStore }
	bus      struct{ events.Bus }
	decider  struct{ identity.Authorizer }
	provider struct{ identity.Provider }
)

// TestWith replaces every port that can be replaced.
func TestWith(t *testing.T) {
	t.Parallel()
	type replaced struct {
		fx.In
		Logs    runs.LogStore
		Bus     events.Bus
		Decider identity.Authorizer
		Engines map[string]extension.Engine
		OIDC    identity.Provider `name:"oidc"`
	}
	err := assembled(t, func(r replaced) {
		if l, ok := r.Logs.(logs); !ok || l.LogStore == nil {
			t.Errorf("the log store is %T", r.Logs)
		}
		if _, ok := r.Bus.(bus); !ok {
			t.Errorf("the bus is %T", r.Bus)
		}
		if _, ok := r.Decider.(decider); !ok {
			t.Errorf("the authorizer is %T", r.Decider)
		}
		if _, ok := r.OIDC.(provider); !ok {
			t.Errorf("the provider is %T", r.OIDC)
		}
		if _, ok := r.Engines["mine"]; !ok || len(r.Engines) < 2 {
			t.Errorf("the engines are %v", r.Engines)
		}
	}, With(func(l runs.LogStore) runs.LogStore { return logs{l} }, func(b events.Bus) events.Bus { return bus{b} }),
		With(func(a identity.Authorizer) (identity.Authorizer, error) { return decider{a}, nil }),
		With(func() identity.Provider { return provider{} }),
		With(func(e map[string]extension.Engine) map[string]extension.Engine {
			e["mine"] = extension.Engine{}
			return e
		}))
	if err != nil {
		t.Error(err)
	}
}

func TestWithSomethingElse(t *testing.T) {
	t.Parallel()
	logStore := With(func() runs.LogStore { return nil })
	if err := assembled(t, func() {}, logStore, logStore); err == nil ||
		!strings.Contains(err.Error(), "runs.LogStore is replaced twice") {
		t.Errorf("%v", err)
	}
	for text, constructor := range map[string]any{
		"expected a function, not int":                              1,
		"expected a function, not <nil>":                            nil,
		"runs.Store cannot be replaced; the replaceable ports are ": func() runs.Store { return nil },
		"returns no port":                                           func() error { return nil },
		"func() (identity.Provider, runs.LogStore) returns ident": func() (identity.Provider, runs.LogStore) {
			return nil, nil
		},
	} {
		if err := assembled(t, func() {}, With(constructor)); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestWithOnARelayWorker replaces ports that a worker over the relay does not have.
func TestWithOnARelayWorker(t *testing.T) {
	t.Parallel()
	startWorker(t, WorkerSettings{
		Executor: Executor{
			DataDir: t.TempDir(), RunsDir: filepath.Join(t.TempDir(), "runs"), Executors: 1, Log: slog.New(slog.DiscardHandler),
			Options: []Option{With(func(l runs.LogStore) runs.LogStore { return logs{l} })},
		},
		Relay: Relay{Server: "http://127.0.0.1:1", Token: "a-worker-token-that-is-long-enough"},
	})()
}
