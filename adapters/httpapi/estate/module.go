package estate

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/estate"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.estate", fx.Provide(fx.Annotate(New, fx.ResultTags(httpapi.Group))))

// Params are the driving ports behind the routes.
type Params struct {
	fx.In

	Changes  estate.Changes
	Reporter audit.Reporter
	Estate   estate.Estate
	Queries  estate.HostQueries
	Fleet    estate.Fleet
	Drift    estate.Drift
	Ignores  estate.Ignores
	Trail    audit.Trail // provides the audit_receipt of a new run; nil leaves it out
	Clock    clock.Clock
}
