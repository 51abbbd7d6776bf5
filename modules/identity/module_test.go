package identity_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"go.uber.org/fx"

	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	module "github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/tx"
)

// roles takes every role that the module promises.
type roles struct {
	fx.In

	Authenticator identity.Authenticator
	Bootstrap     identity.Bootstrap
	Accounts      identity.Accounts
	Tokens        identity.Tokens
	SignIn        identity.SignIn
	Self          identity.Self
	Federation    identity.Federation
	Beginnings    identity.SignInLimiter
	Programs      identity.ProgramSignIn
	Teams         identity.Teams
	Orgs          identity.Orgs
	Grants        identity.Grants
	Objects       identity.Objects
	Guard         access.Guard
}

// TestModule starts and stops the application; what its background work leaves behind, TestMain sees.
func TestModule(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	p := setup(t, d, module.Config{}).params
	var got roles
	app := fx.New(fx.NopLogger, module.Module,
		fx.Provide(
			fx.Annotate(func() *sqlidentity.Store { return sqlidentity.New(d) },
				fx.As(new(identity.AccountStore)), fx.As(new(identity.CallerStore)), fx.As(new(identity.TokenStore)),
				fx.As(new(identity.UseStore)), fx.As(new(identity.TeamStore)), fx.As(new(identity.OrgStore)),
				fx.As(new(identity.GrantStore)), fx.As(new(identity.ObjectStore)), fx.As(new(identity.RightsStore)),
				fx.As(new(identity.HandshakeStore)), fx.As(new(identity.PreferenceStore))),
			func() (tx.Unit, clock.Clock, ids.Generator, *slog.Logger) { return p.Unit, p.Clock, p.IDs, p.Log },
			func() (identity.Hasher, identity.Authorizer, audit.Recorder) {
				return p.Hasher, p.Authorizer, p.Recorder
			},
		),
		fx.Supply(module.Config{}), fx.Invoke(func(r roles) { got = r }))
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	bearer, err := got.Bootstrap.EnsureAdmin(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := got.Authenticator.Authenticate(t.Context(), bearer); err != nil {
		t.Error(err)
	}
	if err := got.Beginnings.Begin(t.Context()); err != nil {
		t.Error(err)
	}
	if may, err := got.Guard.May(t.Context(), access.Manage, "prj_1"); !may || err != nil {
		t.Errorf("%v %v", may, err)
	}
	if err := app.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	list, _, err := got.Tokens.List(t.Context(), page.Window{})
	if err != nil || len(list) != 1 || list[0].LastUsedAt.IsZero() {
		t.Errorf("stopping does not write down the last uses: %+v %v", list, err)
	}
}

// TestBackgroundStops waits for the end of the work, as long as its caller wants to.
func TestBackgroundStops(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.Background.Start()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Background.Stop(ended); err != nil && ended.Err() == nil {
			t.Error(err)
		}
		if err := b.Background.Stop(t.Context()); err != nil {
			t.Error(fmt.Errorf("stopped again: %w", err))
		}
	})
}
