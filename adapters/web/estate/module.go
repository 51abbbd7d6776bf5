package estate

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/system"
)

// Module provides the section in shell.Group.
var Module = fx.Module("web.estate", fx.Provide(fx.Annotate(New, fx.ResultTags(shell.Group))))

// Params are the driving ports that the pages read.
type Params struct {
	fx.In

	Estate      estate.Estate
	Drift       estate.Drift
	Ignores     estate.Ignores
	Changes     estate.Changes
	Inventories catalog.Inventories
	Versions    catalog.InventoryVersions
	Sources     catalog.Sources
	Templates   catalog.Templates
	Projects    catalog.Projects
	Licenses    system.Licenses
}
