package relay_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	relayapi "github.com/writ-automation/writ/adapters/httpapi/relay"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/tx"
)

// strangers are callers without access to the relay, by their credentials.
func strangers() []string {
	return []string{
		"", "viewer", "operator", "admin", workerToken + "x", workerToken[1:], workerToken[:len(workerToken)-1],
		strings.ToUpper(workerToken),
		workerToken + " " + workerToken, capability,
	}
}

// TestEveryRouteByCaller checks that only the worker token opens the relay, with any capability.
func TestEveryRouteByCaller(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, c := range f.calls(t) {
		for _, who := range strangers() {
			f.Call(c.method, c.path, who, c.body, execution.CapabilityHeader, capability).Problem(401, "bad_worker_token")
			f.Call(c.method, c.path+"?nope=1", who, `{"nope":`, execution.CapabilityHeader, capability).
				Problem(401, "bad_worker_token")
		}
		for _, header := range []string{"Basic " + workerToken, workerToken, "Bearer", "Bearer\t" + workerToken} {
			f.Call(c.method, c.path, "", c.body, execution.CapabilityHeader, capability, "Authorization", header).
				Problem(401, "bad_worker_token")
		}
		for _, cookie := range []string{"admin", workerToken} {
			f.Call(c.method, c.path, "", c.body, execution.CapabilityHeader, capability, "Cookie", "writ_session="+cookie).
				Problem(401, "bad_worker_token")
		}
		f.Call(c.method, c.path+"?access_token="+workerToken, "", c.body, execution.CapabilityHeader, capability).
			Problem(401, "bad_worker_token")
		if got := f.plane.take(); len(got) > 0 {
			t.Errorf("%s reached the other side by strangers: %v", c.id, got)
		}
		if a := f.report(c.method, c.path, c.body, "Authorization", "bEARER "+workerToken); a.Status != table()[c.id] {
			t.Errorf("%s: %d, want %d: %s", c.id, a.Status, table()[c.id], a.Body)
		}
		if got := f.plane.take(); len(got) != 1 {
			t.Errorf("%s asked %d times", c.id, len(got))
		}
	}
	if n := len(f.Recorder.Entries()); n != 0 {
		t.Errorf("%d entries in the trail", n)
	}
}

// TestDisabled checks that an install without a worker token has no relay.
func TestDisabled(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{false, true} {
		f := setup(t, func(c *httpapi.Config) { c.WorkerToken, c.Open = "", open })
		for _, c := range f.calls(t) {
			for _, who := range append(strangers(), workerToken) {
				f.Call(c.method, c.path, who, c.body, execution.CapabilityHeader, capability).Problem(404, "relay_disabled")
			}
			f.Call(c.method, c.path, "", c.body, "Authorization", "Bearer ").Problem(404, "relay_disabled")
		}
		if got := f.plane.take(); len(got) > 0 {
			t.Errorf("the other side was asked %v", got)
		}
	}
}

// gate admits one worker with a token of its own, until it is revoked.
type gate struct {
	revoked, broken atomic.Bool
}

const boundToken = execution.WorkerTokenPrefix + "C4nary0fTheWorkerEdge"

func (g *gate) Admit(_ context.Context, token secret.Text) (execution.Peer, error) {
	switch {
	case g.broken.Load():
		return execution.Peer{}, &fault.Error{Kind: fault.Unavailable, Message: "the database is away"}
	case g.revoked.Load():
		return execution.Peer{}, execution.RelayDisabled.New("there are no tokens")
	case token.Reveal() != boundToken:
		return execution.Peer{}, execution.BadWorkerToken.New("this is no worker token that is valid here")
	}
	return execution.Peer{TokenID: "wkt_1", Name: "edge", Queues: []string{"dmz"}}, nil
}

// TestTokensOfWorkers: the token of one worker opens the relay beside the shared one and without it, and tells the
// relay who calls. After the last is revoked the relay is disabled, and the shared one goes on.
func TestTokensOfWorkers(t *testing.T) {
	t.Parallel()
	for _, shared := range []string{"", workerToken} {
		f, g := &fixture{plane: newFakePlane()}, &gate{}
		f.Server = httpapitest.ServeWorkers(t, httpapi.Config{Version: "1", WorkerToken: secret.Text(shared)}, g,
			relayapi.New(params(f.plane)))
		for _, c := range f.calls(t) {
			for _, who := range append(strangers(), boundToken+"x", boundToken[1:], execution.WorkerTokenPrefix) {
				f.Call(c.method, c.path, who, c.body, execution.CapabilityHeader, capability).Problem(401, "bad_worker_token")
			}
			f.plane.take()
			a := f.Call(c.method, c.path, boundToken, c.body, execution.CapabilityHeader, capability)
			if a.Status != table()[c.id] {
				t.Errorf("%s: %d %s", c.id, a.Status, a.Body)
			}
			who, _ := f.plane.by()
			if d := cmp.Diff(actor.Actor{Type: actor.Worker, Name: "edge", IP: "127.0.0.1"}, who); d != "" {
				t.Errorf("%s: %s", c.id, d)
			}
			if d := cmp.Diff(execution.Peer{TokenID: "wkt_1", Name: "edge", Queues: []string{"dmz"}}, f.plane.peer()); d != "" {
				t.Errorf("%s: %s", c.id, d)
			}
			if a := f.report(c.method, c.path, c.body); shared != "" &&
				(a.Status != table()[c.id] || f.plane.peer().TokenID != "") {
				t.Errorf("%s with the shared token: %d %+v", c.id, a.Status, f.plane.peer())
			}
		}
		f.plane.take()
		c := f.calls(t)[0]
		g.broken.Store(true)
		f.Call(c.method, c.path, boundToken, c.body, execution.CapabilityHeader, capability).Problem(503, "unavailable")
		g.broken.Store(false)
		g.revoked.Store(true)
		gone := f.Call(c.method, c.path, boundToken, c.body, execution.CapabilityHeader, capability)
		if shared == "" {
			gone.Problem(404, "relay_disabled")
		} else {
			gone.Problem(401, "bad_worker_token")
		}
		if got := f.plane.take(); len(got) > 0 {
			t.Errorf("the other side was asked %v", got)
		}
	}
}

// TestOpenInstall requires no accounts, but still the worker token.
func TestOpenInstall(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *httpapi.Config) { c.Open = true })
	for _, c := range f.calls(t) {
		for _, who := range strangers() {
			f.Call(c.method, c.path, who, c.body, execution.CapabilityHeader, capability).Problem(401, "bad_worker_token")
		}
		if a := f.report(c.method, c.path, c.body); a.Status != table()[c.id] {
			t.Errorf("%s: %d %s", c.id, a.Status, a.Body)
		}
		f.report(c.method, c.path, c.body, "Host", "writ.test").Problem(403, "host_not_allowed")
	}
}

// TestReadOnlyInstall checks that runs submitted earlier continue.
func TestReadOnlyInstall(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *httpapi.Config) { c.ReadOnly = true })
	for _, c := range f.calls(t) {
		if a := f.report(c.method, c.path, c.body); a.Status != table()[c.id] {
			t.Errorf("%s: %d %s", c.id, a.Status, a.Body)
		}
	}
}

// TestDeclarations: a report is declared as one, and each operation says what opens it.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, op := range f.Operations() {
		report := op.Extensions["x-report"] == true
		if op.Extensions["x-access"] != "worker" || op.Extensions["x-mutates"] != false || op.Extensions["x-audit"] != nil ||
			report != (op.Method == "POST") {
			t.Errorf("%s: %v", op.OperationID, op.Extensions)
		}
		if d := cmp.Diff([]map[string][]string{{"worker": {}}}, op.Security); d != "" {
			t.Errorf("%s: %s", op.OperationID, d)
		}
		codes := []string{"400", "401", "404", "500", "503"}
		if op.OperationID != "claim-run" {
			codes = append(codes, "409")
		}
		if op.Method == http.MethodPost {
			codes = append(codes, "413", "415")
		}
		for _, code := range codes {
			if op.Responses[code] == nil {
				t.Errorf("%s does not document %s", op.OperationID, code)
			}
		}
		capable := slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool {
			return p.In == "header" && p.Name == execution.CapabilityHeader && !p.Required
		})
		if capable != (op.OperationID != "claim-run") {
			t.Errorf("%s: the capability is described: %t", op.OperationID, capable)
		}
	}
}

// TestWhoActs: entries name a worker and its address, and the caller holds no receipt of them.
func TestWhoActs(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, c := range f.calls(t) {
		f.report(c.method, c.path, c.body, "X-Request-Id", "r1", "User-Agent", "writ/1").Has("Audit-Receipt", "").
			Has("Cache-Control", "no-store")
		who, request := f.plane.by()
		if d := cmp.Diff(actor.Actor{Type: actor.Worker, Name: "relay", IP: "127.0.0.1"}, who); d != "" {
			t.Errorf("%s: %s", c.id, d)
		}
		if d := cmp.Diff(actor.Request{ID: "r1", Method: c.method, Path: c.path, Agent: "writ/1"}, request); d != "" {
			t.Errorf("%s: %s", c.id, d)
		}
	}
}

// TestModuleWires builds the routes through fx.
func TestModuleWires(t *testing.T) {
	t.Parallel()
	s := newFakePlane()
	var h http.Handler
	app := fx.New(
		fx.NopLogger, httpapi.Module, relayapi.Module,
		fx.Supply(httpapi.Config{Version: "1", WorkerToken: workerToken}, slog.New(slog.DiscardHandler)),
		fx.Provide(
			func() (identity.Authenticator, identity.Authorizer, ids.Generator) {
				return httpapitest.Guard{}, httpapitest.Guard{}, httpapitest.IDs{}
			},
			func() (tx.Unit, audit.Recorder) { return httpapitest.Unit{}, &httpapitest.Recorder{} },
			func() (execution.Relay, execution.RelayJournal, execution.RelayMaterials, execution.RelayWorks) {
				return s, s, s, s
			},
		),
		fx.Populate(&h),
	)
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{on(""): 401, on("/inventory"): 401, on("/project"): 401, "/relay/v1/claim": 405,
		"/relay/v1": 404} {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
		if rec.Code != want {
			t.Errorf("%s: %d, want %d", path, rec.Code, want)
		}
	}
	if err := app.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
