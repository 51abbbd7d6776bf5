package objects

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/system"
)

// Module provides the section in shell.Group.
var Module = fx.Module("web.objects", fx.Provide(fx.Annotate(New, fx.ResultTags(shell.Group))))

// Params are the driving ports that the pages read. What else they show, they ask of the API as its clients do.
type Params struct {
	fx.In

	Guard    access.Guard
	Licenses system.Licenses
	Policies policy.Policies
	// Source is where the policies come from if a file is the only source of them.
	Source policy.Source
}
