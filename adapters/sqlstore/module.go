package sqlstore

import (
	"slices"

	"go.uber.org/fx"

	sqlaudit "github.com/writ-automation/writ/adapters/sqlstore/audit"
	sqlcatalog "github.com/writ-automation/writ/adapters/sqlstore/catalog"
	sqlestate "github.com/writ-automation/writ/adapters/sqlstore/estate"
	sqlexecution "github.com/writ-automation/writ/adapters/sqlstore/execution"
	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	sqlnotify "github.com/writ-automation/writ/adapters/sqlstore/notify"
	sqlpolicy "github.com/writ-automation/writ/adapters/sqlstore/policy"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	sqlscheduling "github.com/writ-automation/writ/adapters/sqlstore/scheduling"
	sqlsecrets "github.com/writ-automation/writ/adapters/sqlstore/secrets"
	sqlsystem "github.com/writ-automation/writ/adapters/sqlstore/system"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/system"
)

// Module provides the stores of every context, and their secrets.Holder values in the group sealed_holders. It needs a
// *db.DB whose schema is migrated before the first write.
var Module = fx.Module("sqlstore",
	fx.Provide(
		fx.Annotate(sqlruns.New, fx.As(new(runs.Store)), fx.As(new(runs.Queue)), fx.As(new(runs.LogStore)),
			fx.As(new(runs.EventStore)),
			fx.As(new(runs.SummaryStore)), fx.As(new(runs.KeyStore)), fx.As(new(runs.TicketStore)), fx.As(new(runs.Purger)),
			fx.As(new(runs.ObjectStore)), fx.As(new(runs.SlotStore)), fx.As(new(runs.WaitStore)), fx.As(new(runs.FactQueue)),
			fx.As(new(runs.FacetStore)), fx.As(new(runs.PlanStore)),
			fx.As(new(estate.ChangeStore))),
		fx.Annotate(sqlidentity.New, fx.As(new(identity.AccountStore)), fx.As(new(identity.CallerStore)),
			fx.As(new(identity.TokenStore)),
			fx.As(new(identity.UseStore)), fx.As(new(identity.TeamStore)), fx.As(new(identity.OrgStore)),
			fx.As(new(identity.GrantStore)),
			fx.As(new(identity.ObjectStore)), fx.As(new(identity.RightsStore)), fx.As(new(identity.HandshakeStore)),
			fx.As(new(identity.VersionStore)), fx.As(new(identity.PreferenceStore))),
		fx.Annotate(sqlexecution.New, fx.As(new(execution.WorkerStore)), fx.As(new(execution.ClaimStore)),
			fx.As(new(execution.ClaimSecretStore)), fx.As(new(execution.WorkerTokenStore)), fx.As(new(execution.QueueStore))),
		fx.Annotate(sqlaudit.New, fx.As(new(audit.ChainStore)), fx.As(new(audit.ChainReader)), fx.As(new(audit.TileStore)),
			fx.As(new(audit.AnchorStore)), fx.As(new(audit.IdentityStore))),
		fx.Annotate(sqlcatalog.New, fx.As(new(catalog.ProjectStore)), fx.As(new(catalog.InventoryStore)),
			fx.As(new(catalog.InventoryVersionStore)),
			fx.As(new(catalog.SourceStore)), fx.As(new(catalog.RefreshStore)), fx.As(new(catalog.RefreshQueue)),
			fx.As(new(catalog.TemplateStore)), fx.As(new(object.Usage))),
		fx.Annotate(sqlnotify.New, fx.As(new(notify.Store)), fx.As(new(notify.TargetStore))),
		fx.Annotate(sqlscheduling.New, fx.As(new(scheduling.ScheduleStore)), fx.As(new(scheduling.SlotStore)),
			fx.As(new(scheduling.TriggerStore)), fx.As(new(scheduling.DeliveryStore))),
		fx.Annotate(sqlsecrets.New, fx.As(new(secrets.Store)), fx.As(new(secrets.TypeStore)), fx.As(new(secrets.LeaseStore))),
		fx.Annotate(sqlpolicy.New, fx.As(new(policy.Store))),
		fx.Annotate(sqlpolicy.NewWindows, fx.As(new(policy.WindowStore))),
		fx.Annotate(sqlestate.New, fx.As(new(estate.FactStore)), fx.As(new(estate.FleetStore)),
			fx.As(new(estate.DriftStore)), fx.As(new(runs.Repairs))),
		fx.Annotate(sqlestate.NewIgnores, fx.As(new(estate.IgnoreStore))),
		fx.Annotate(sqlsystem.New, fx.As(new(system.DeadLetterStore))),
		fx.Annotate(sealedStores, fx.ResultTags(`group:"sealed_holders,flatten"`)),
	),
)

// sealedStores are the tables with sealed data.
func sealedStores(d *db.DB) []secrets.SealedStore {
	return slices.Concat(sqlsecrets.New(d).SealedStores(), sqlcatalog.New(d).SealedStores(),
		sqlscheduling.New(d).SealedStores(), sqlnotify.New(d).SealedStores(), sqlexecution.New(d).SealedStores())
}
