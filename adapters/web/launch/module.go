package launch

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secrets"
)

// Module provides the section in shell.Group.
var Module = fx.Module("web.launch", fx.Provide(fx.Annotate(New, fx.ResultTags(shell.Group))))

// Params are the driving ports that the pages read.
type Params struct {
	fx.In

	Templates   catalog.Templates
	Inventories catalog.Inventories
	References  catalog.References
	Projects    catalog.Projects
	Credentials secrets.Credentials
	Schedules   scheduling.Schedules
	Runs        runs.Reader
	Tools       execution.Catalog
	Policies    policy.Evaluator
}
