package relay

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/policy"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.relay", fx.Provide(fx.Annotate(New, fx.ResultTags(httpapi.Group))))

// Params are the driving ports behind the routes.
type Params struct {
	fx.In

	Relay     execution.Relay
	Journal   execution.RelayJournal
	Materials execution.RelayMaterials
	Works     execution.RelayWorks
	// Policies tells which policies are in force. Nil leaves their ETag out of claims.
	Policies policy.Policies `optional:"true"`
}
