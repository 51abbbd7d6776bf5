package fleet

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// Module provides the section in shell.Group.
var Module = fx.Module("web.fleet", fx.Provide(fx.Annotate(New, fx.ResultTags(shell.Group))))

// Params are the driving ports that the pages read.
type Params struct {
	fx.In

	Fleet       estate.Fleet
	Estate      estate.Estate
	Runs        runs.Reader
	Insight     runs.Insight `optional:"true"` // nil leaves causes out
	Inventories catalog.Inventories
	Templates   catalog.Templates
	Workers     execution.Fleet
	Queues      execution.Queues
	Tokens      execution.WorkerTokens
}
