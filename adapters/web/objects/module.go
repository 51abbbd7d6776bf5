package objects

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/access"
)

// Module provides the section in shell.Group.
var Module = fx.Module("web.objects", fx.Provide(fx.Annotate(New, fx.ResultTags(shell.Group))))

// Params are the driving ports that the pages read. What else they show, they ask of the API as its clients do.
type Params struct {
	fx.In

	Guard access.Guard
}
