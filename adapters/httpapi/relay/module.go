package relay

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/execution"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.relay", fx.Provide(fx.Annotate(provide, fx.ResultTags(httpapi.Group))))

type moduleParams struct {
	fx.In
	Relay     execution.Relay
	Journal   execution.RelayJournal
	Materials execution.RelayMaterials
}

func provide(p moduleParams) httpapi.Routes {
	return New(Params{Relay: p.Relay, Journal: p.Journal, Materials: p.Materials})
}
