package compose

import (
	"context"
	"errors"
	"log/slog"

	"go.uber.org/fx"

	auditmodule "github.com/writ-automation/writ/modules/audit"
	"github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/platform/db"
	portidentity "github.com/writ-automation/writ/ports/identity"
)

// Accounts are the roles of identity over a database, for commands that work without a server. A running server sees
// their changes at once.
type Accounts struct {
	Accounts portidentity.Accounts
	Tokens   portidentity.Tokens
	app      *fx.App
}

// OpenAccounts opens the database of an install that has been started before. It neither creates nor migrates it.
func OpenAccounts(ctx context.Context, url string, log *slog.Logger) (*Accounts, error) {
	if err := exists(url); err != nil {
		return nil, err
	}
	a := &Accounts{}
	var d *db.DB
	a.app = fx.New(accountOptions(&Install{DB: url}, log), fx.Populate(&a.Accounts, &a.Tokens, &d))
	if err := a.app.Err(); err != nil {
		return nil, rootCause(err)
	}
	if err := a.app.Start(ctx); err != nil {
		return nil, err
	}
	if err := d.Probe(ctx); err != nil {
		return nil, errors.Join(err, a.Close(ctx))
	}
	return a, nil
}

// Close closes the database.
func (a *Accounts) Close(ctx context.Context) error { return a.app.Stop(ctx) }

func accountOptions(i *Install, log *slog.Logger) fx.Option {
	return fx.Options(
		fx.WithLogger(quiet), fx.Supply(i, log, identity.Config{}, auditmodule.Config{}),
		platform(), stores()[storeOf(i.DB)], passwords(), authorizer(false), auditmodule.Module, identity.Module,
	)
}
