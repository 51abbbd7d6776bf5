package catalog

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.catalog", fx.Provide(fx.Annotate(New, fx.ResultTags(httpapi.Group))))

// Params are the driving ports behind the routes.
type Params struct {
	fx.In

	Projects    catalog.Projects
	Commits     catalog.ProjectCommits
	Inventories catalog.Inventories
	Versions    catalog.InventoryVersions
	Sources     catalog.Sources
	Templates   catalog.Templates
	Launcher    catalog.Launcher
	Trail       audit.Trail // provides the audit_receipt of a launched run; nil leaves it out
	Clock       clock.Clock
}
