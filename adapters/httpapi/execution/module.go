package execution

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/execution"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.execution", fx.Provide(fx.Annotate(New, fx.ResultTags(httpapi.Group))))

// Params holds the driving ports of the routes.
type Params struct {
	fx.In
	Fleet  execution.Fleet
	Tokens execution.WorkerTokens
	Queues execution.Queues
}
