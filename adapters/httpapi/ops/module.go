package ops

import (
	"net/http"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/system"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.ops", fx.Provide(fx.Annotate(New, fx.ResultTags(httpapi.Group))))

// Params are what the routes show.
type Params struct {
	fx.In

	Health   system.Health
	Doctor   system.Doctor
	Licenses system.Licenses
	Metrics  http.Handler `name:"metrics"`
}
