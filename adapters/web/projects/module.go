package projects

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
)

// Module provides the section in shell.Group.
var Module = fx.Module("web.projects", fx.Provide(fx.Annotate(New, fx.ResultTags(shell.Group))))

// Params are the driving ports that the pages read.
type Params struct {
	fx.In

	Projects  catalog.Projects
	Templates catalog.Templates
}
