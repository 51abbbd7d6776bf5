package scheduling

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.scheduling", fx.Provide(fx.Annotate(provide, fx.ResultTags(httpapi.Group))))

type moduleParams struct {
	fx.In
	Schedules scheduling.Schedules
	Planner   scheduling.Planner
	Triggers  scheduling.Triggers
	Hooks     scheduling.Hooks
}

func provide(p moduleParams) httpapi.Routes {
	return New(Params{Schedules: p.Schedules, Planner: p.Planner, Triggers: p.Triggers, Hooks: p.Hooks})
}
