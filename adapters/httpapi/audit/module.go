package audit

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/runs"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.audit", fx.Provide(fx.Annotate(New, fx.ResultTags(httpapi.Group))))

// Params holds the driving ports of the routes.
type Params struct {
	fx.In

	Trail    audit.Trail
	Prover   audit.Prover
	Reporter audit.Reporter
	Audience audit.Audience
	// Runs returns the runs that the caller may read: documents of other runs are not found.
	Runs  runs.Reader
	Clock clock.Clock
}
