package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	aiapi "github.com/writ-automation/writ/adapters/httpapi/ai"
	auditapi "github.com/writ-automation/writ/adapters/httpapi/audit"
	catalogapi "github.com/writ-automation/writ/adapters/httpapi/catalog"
	estateapi "github.com/writ-automation/writ/adapters/httpapi/estate"
	executionapi "github.com/writ-automation/writ/adapters/httpapi/execution"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	identityapi "github.com/writ-automation/writ/adapters/httpapi/identity"
	importerapi "github.com/writ-automation/writ/adapters/httpapi/importer"
	notifyapi "github.com/writ-automation/writ/adapters/httpapi/notify"
	"github.com/writ-automation/writ/adapters/httpapi/ops"
	policyapi "github.com/writ-automation/writ/adapters/httpapi/policy"
	relayapi "github.com/writ-automation/writ/adapters/httpapi/relay"
	runsapi "github.com/writ-automation/writ/adapters/httpapi/runs"
	schedulingapi "github.com/writ-automation/writ/adapters/httpapi/scheduling"
	secretsapi "github.com/writ-automation/writ/adapters/httpapi/secrets"
	systemapi "github.com/writ-automation/writ/adapters/httpapi/system"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/system"
)

// TestMain checks that no stream, heartbeat or server outlives the tests.
func TestMain(m *testing.M) { httpapitest.Main(m) }

type observed struct {
	route, method string
	code          int
}

type observer struct {
	mu   sync.Mutex
	seen []observed
}

func (o *observer) Observe(route, method string, code int, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = append(o.seen, observed{route, method, code})
}

type fixture struct {
	t      *testing.T
	url    string
	srv    *httptest.Server
	fake   *fake
	chain  *chain
	proofs *proofs
	guard  *guard
	health *health
	log    *httpapitest.Log
	seen   *observer
	router *httpapi.Router
}

func routesOf(t *testing.T, f *fixture) []httpapi.Routes {
	t.Helper()
	o, err := ops.New(ops.Params{
		Health: f.health, Doctor: well{}, Licenses: free{},
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "writ_runs 1\n") }),
	})
	if err != nil {
		t.Fatal(err)
	}
	r := runsapi.New(runsapi.Params{
		Submitter: f.fake, Controller: f.fake, Approver: f.fake, Reader: f.fake,
		Facets: f.fake, Feed: f.fake, Streamer: f.fake, Tickets: f.fake,
		Insight: f.fake, Plans: planned{}, Trail: f.chain, Clock: wall{}, Heartbeat: 20 * time.Millisecond,
	})
	a := auditapi.New(auditapi.Params{Trail: f.chain, Prover: f.proofs, Reporter: f.proofs, Audience: everybody{},
		Runs: f.fake, Clock: wall{}})
	return []httpapi.Routes{r, o, a}
}

// whole adds the routes that other tests try out, for tests of the API document. No port of theirs is called.
func whole(p *httpapi.Params) {
	p.Routes = append(p.Routes,
		identityapi.New(identityapi.Params{
			Tokens: struct{ identity.Tokens }{}, Accounts: struct{ identity.Accounts }{}, Teams: struct{ identity.Teams }{},
			Orgs: struct{ identity.Orgs }{}, Grants: struct{ identity.Grants }{},
		}),
		catalogapi.New(catalogapi.Params{
			Projects: struct{ catalog.Projects }{}, Inventories: struct{ catalog.Inventories }{},
			Sources: struct{ catalog.Sources }{}, Templates: struct{ catalog.Templates }{},
		}),
		schedulingapi.New(schedulingapi.Params{
			Schedules: struct{ scheduling.Schedules }{}, Triggers: struct{ scheduling.Triggers }{},
		}),
		secretsapi.New(secretsapi.Params{
			Credentials: struct{ secrets.Credentials }{}, Types: struct{ secrets.Types }{},
		}),
		estateapi.New(estateapi.Params{Estate: struct{ estate.Estate }{}, Fleet: struct{ estate.Fleet }{},
			Ignores: struct{ estate.Ignores }{}}),
		policyapi.New(policyapi.Params{Policies: struct{ policy.Policies }{}, Windows: struct{ policy.Windows }{}}),
		systemapi.New(struct{ system.DeadLetters }{}, noExtensions{}), importerapi.New(importerapi.Params{}),
		aiapi.New(aiapi.Params{}),
		executionapi.New(executionapi.Params{Tokens: struct{ execution.WorkerTokens }{}}), notifyapi.New(nil),
		relayapi.New(relayapi.Params{}))
}

// noExtensions is a server without extensions.
type noExtensions struct{}

func (noExtensions) Extensions(context.Context) []system.Extension { return nil }

func setup(t *testing.T, change ...func(*httpapi.Params)) *fixture {
	t.Helper()
	f := &fixture{t: t, fake: &fake{}, chain: &chain{}, proofs: &proofs{}, guard: &guard{}, health: &health{},
		log: &httpapitest.Log{}, seen: &observer{}}
	p := httpapi.Params{
		Config: httpapi.Config{Version: "1.2.3"}, Authenticator: f.guard, Authorizer: f.guard,
		Log: slog.New(slog.NewJSONHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		IDs: &counter{}, Observer: f.seen,
		Unit: httpapitest.Unit{}, Recorder: f.chain, Routes: routesOf(t, f),
	}
	for _, c := range change {
		c(&p)
	}
	f.guard.open = p.Config.Open
	f.srv, f.router = httpapitest.Listen(t, p)
	f.url = f.srv.URL
	return f
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

// call sends a request as the role that token names, as httpapitest.Send does. An answer may end early.
func (f *fixture) call(method, path, token, body string, header ...string) answer {
	f.t.Helper()
	a, err := httpapitest.Send(f.t, method, f.url+path, token, body, header...)
	if err != nil {
		f.t.Logf("%s %s: read: %v", method, path, err)
	}
	return answer{a.Status, a.Header, []byte(a.Body)}
}

type problem struct {
	Title, Detail, Error, Reason string
	Status                       int
	Errors                       []struct{ Location, Message string }
	RequestID                    string `json:"request_id"`
}

// problem checks the shape that every error has.
func (a answer) problem(t *testing.T, status int) problem {
	t.Helper()
	var p problem
	if a.status != status {
		t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	if ct := a.header.Get("Content-Type"); ct != "application/problem+json" {
		t.Fatalf("content type %q: %s", ct, a.body)
	}
	if err := json.Unmarshal(a.body, &p); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	if p.Error == "" || p.Error != p.Detail || p.Reason == "" || p.Status != status || p.Title == "" {
		t.Fatalf("not the shape of an error: %s", a.body)
	}
	return p
}

func (a answer) json(t *testing.T, status int) map[string]any {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	d := json.NewDecoder(bytes.NewReader(a.body))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return m
}
