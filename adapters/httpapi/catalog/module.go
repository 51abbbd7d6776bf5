package catalog

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.catalog", fx.Provide(fx.Annotate(provide, fx.ResultTags(httpapi.Group))))

type moduleParams struct {
	fx.In
	Projects    catalog.Projects
	Inventories catalog.Inventories
	Sources     catalog.Sources
	Templates   catalog.Templates
	Launcher    catalog.Launcher
	Trail       audit.Trail
	Clock       clock.Clock
}

func provide(p moduleParams) httpapi.Routes {
	return New(Params{
		Projects: p.Projects, Inventories: p.Inventories, Sources: p.Sources, Templates: p.Templates, Launcher: p.Launcher,
		Trail: p.Trail, Clock: p.Clock,
	})
}
