package httpapi_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	auditapi "github.com/writ-automation/writ/adapters/httpapi/audit"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/adapters/httpapi/ops"
	runsapi "github.com/writ-automation/writ/adapters/httpapi/runs"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
	"github.com/writ-automation/writ/ports/tx"
)

// TestModulesWire builds the surface through fx, every folder's routes included, and stops it.
func TestModulesWire(t *testing.T) {
	t.Parallel()
	f, g := &fake{}, &guard{}
	var h http.Handler
	app := fx.New(
		fx.NopLogger, httpapi.Module, runsapi.Module, auditapi.Module, ops.Module,
		fx.Supply(httpapi.Config{Version: "1"}, system.Info{}, slog.New(slog.DiscardHandler)),
		fx.Provide(
			func() (identity.Authenticator, identity.Authorizer, clock.Clock, ids.Generator, system.Health, system.Doctor) {
				return g, g, wall{}, &counter{}, &health{}, well{}
			},
			func() system.Licenses { return free{} },
			func() (runs.Submitter, runs.Controller, runs.Approver, runs.Reader) { return f, f, f, f },
			func() (runs.Streamer, runs.Tickets, runs.FacetReader, runs.Feed) { return f, f, f, f },
			func() (tx.Unit, audit.Recorder, audit.Trail, audit.Prover, audit.Reporter, audit.Audience) {
				return httpapitest.Unit{}, &chain{}, &chain{}, &proofs{}, &proofs{}, everybody{}
			},
			fx.Annotate(func() http.Handler { return http.NotFoundHandler() }, fx.ResultTags(`name:"metrics"`)),
		),
		fx.Populate(&h),
	)
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/v1/runs": 401, "/healthz": 200, "/v1/runs/x/why": 404, "/v1/audit": 401,
		"/.well-known/seal.json": 200} {
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
