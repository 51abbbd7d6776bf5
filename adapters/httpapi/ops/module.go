package ops

import (
	"net/http"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/system"
)

// Module provides the routes in httpapi.Group. It needs a system.Health, a system.Doctor, a system.Info and the
// metrics' http.Handler under the name "metrics".
var Module = fx.Module("httpapi.ops", fx.Provide(fx.Annotate(provide, fx.ResultTags(httpapi.Group))))

type moduleParams struct {
	fx.In
	Health  system.Health
	Doctor  system.Doctor
	Info    system.Info
	Metrics http.Handler `name:"metrics"`
}

func provide(p moduleParams) (httpapi.Routes, error) {
	return New(Params{Health: p.Health, Doctor: p.Doctor, Info: p.Info, Metrics: p.Metrics})
}
