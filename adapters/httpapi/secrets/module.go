package secrets

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/secrets"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.secrets", fx.Provide(fx.Annotate(provide, fx.ResultTags(httpapi.Group))))

type moduleParams struct {
	fx.In
	Credentials secrets.Credentials
	Types       secrets.Types
}

func provide(p moduleParams) httpapi.Routes {
	return New(Params{Credentials: p.Credentials, Types: p.Types})
}
