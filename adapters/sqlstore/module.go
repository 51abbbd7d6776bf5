package sqlstore

import (
	"go.uber.org/fx"

	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

// Module provides the stores of every context. It needs a *db.DB whose schema is migrated before anything is stored.
var Module = fx.Module("sqlstore",
	fx.Provide(
		fx.Annotate(sqlruns.New, fx.As(new(runs.Store)), fx.As(new(runs.Queue)), fx.As(new(runs.LogStore)), fx.As(new(runs.EventStore)),
			fx.As(new(runs.SummaryStore)), fx.As(new(runs.KeyStore)), fx.As(new(runs.TicketStore)), fx.As(new(runs.Purger))),
		fx.Annotate(sqlidentity.New, fx.As(new(identity.Store)), fx.As(new(identity.UseStore))),
	),
)
