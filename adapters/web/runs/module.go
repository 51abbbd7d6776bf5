package runs

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

// Module provides the section in shell.Group.
var Module = fx.Module("web.runs", fx.Provide(fx.Annotate(New, fx.ResultTags(shell.Group))))

// Params are the driving ports that the pages read.
type Params struct {
	fx.In

	Reader    runs.Reader
	Insight   runs.Insight `optional:"true"` // nil leaves out why runs wait
	Shared    identity.TeamPreferences
	Templates catalog.Templates
	Fleet     estate.Fleet
	Queues    execution.Queues
	Tools     execution.Catalog
	Clock     clock.Clock
}
