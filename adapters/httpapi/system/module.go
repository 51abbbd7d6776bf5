package system

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
)

// Module provides the routes in httpapi.Group. It needs system.DeadLetters and system.Extensions.
var Module = fx.Module("httpapi.system", fx.Provide(fx.Annotate(New, fx.ResultTags(httpapi.Group))))
