package policies

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
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
	Runs     runs.Reader
	Accounts identity.Accounts
}
