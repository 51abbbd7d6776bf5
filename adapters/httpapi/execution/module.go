package execution

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.execution", fx.Provide(fx.Annotate(New, fx.ResultTags(httpapi.Group))))
