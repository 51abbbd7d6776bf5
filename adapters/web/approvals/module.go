package approvals

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

// Module provides the section in shell.Group.
var Module = fx.Module("web.approvals", fx.Provide(fx.Annotate(New, fx.ResultTags(shell.Group))))

// Params are the driving ports that the pages read.
type Params struct {
	fx.In

	Runs        runs.Reader
	Plans       runs.Plans `optional:"true"` // nil leaves plans out
	Inventories catalog.Inventories
	Projects    catalog.Projects
	Commits     catalog.ProjectCommits
	Self        identity.Self
	Teams       identity.Teams
	Accounts    identity.Accounts
}
