package compose

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/platform/db"
	portidentity "github.com/writ-automation/writ/ports/identity"
)

// Accounts are the roles of identity over a database, for commands that work without a server. A running server sees
// what they do at once.
type Accounts struct {
	Tokens portidentity.Tokens
	Store  portidentity.Store
	app    *fx.App
}

// OpenAccounts opens the database of an install that has been started before. It creates nothing and migrates nothing.
func OpenAccounts(ctx context.Context, url string, log *slog.Logger) (*Accounts, error) {
	if storeOf(url) == SQLite {
		if _, err := os.Stat(url); err != nil {
			return nil, fmt.Errorf("db: %w", err)
		}
	}
	a := &Accounts{}
	var d *db.DB
	a.app = fx.New(accountOptions(&Settings{DB: url, Log: log}), fx.Populate(&a.Tokens, &a.Store, &d))
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

func accountOptions(s *Settings) fx.Option {
	return fx.Options(
		fx.WithLogger(quiet), fx.Supply(s, s.Log, identity.Config{}),
		platform(), stores()[storeOf(s.DB)], identity.Module,
	)
}
