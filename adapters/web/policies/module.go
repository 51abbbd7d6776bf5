package policies

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Module provides the section in shell.Group.
var Module = fx.Module("web.policies", fx.Provide(fx.Annotate(New, fx.ResultTags(shell.Group))))

// Params are the driving ports that the pages read.
type Params struct {
	fx.In

	Policies policy.Policies
	Windows  policy.Windows
	Planner  scheduling.Planner
	// Source is where the policies come from if a file is the only source of them.
	Source policy.Source
}
