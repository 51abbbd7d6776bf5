package schedules

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Module provides the section in shell.Group.
var Module = fx.Module("web.schedules", fx.Provide(fx.Annotate(New, fx.ResultTags(shell.Group))))

// Params are the driving ports that the pages read.
type Params struct {
	fx.In

	Schedules scheduling.Schedules
	Triggers  scheduling.Triggers
	Templates catalog.Templates
	Planner   scheduling.Planner
}
