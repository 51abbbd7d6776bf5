package execution

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/execution"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.execution", fx.Provide(fx.Annotate(provide, fx.ResultTags(httpapi.Group))))

type moduleParams struct {
	fx.In
	Fleet  execution.Fleet
	Tokens execution.WorkerTokens
}

func provide(p moduleParams) httpapi.Routes { return New(Params{Fleet: p.Fleet, Tokens: p.Tokens}) }
