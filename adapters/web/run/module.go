package run

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
)

// Module provides the section in shell.Group.
var Module = fx.Module("web.run", fx.Provide(fx.Annotate(New, fx.ResultTags(shell.Group))))

// Params are the driving ports that the pages read. Without an optional one, a page lacks what it would show of it.
type Params struct {
	fx.In

	Reader      runs.Reader
	Insight     runs.Insight        `optional:"true"`
	Plans       runs.Plans          `optional:"true"`
	Templates   catalog.Templates   `optional:"true"`
	Inventories catalog.Inventories `optional:"true"`
	Trail       audit.Trail
}
