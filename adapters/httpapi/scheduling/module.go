package scheduling

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.scheduling", fx.Provide(fx.Annotate(New, fx.ResultTags(httpapi.Group))))

// Params are the dependencies of the routes.
type Params struct {
	fx.In

	Schedules scheduling.Schedules
	Planner   scheduling.Planner
	Triggers  scheduling.Triggers
	Hooks     scheduling.Hooks
}
