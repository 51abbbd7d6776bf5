package ai

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.ai", fx.Provide(fx.Annotate(New, fx.ResultTags(httpapi.Group))))

// Params are the driving ports behind the routes.
type Params struct {
	fx.In

	Advisor ai.Advisor
	Trail   audit.Trail // provides the audit_receipt of a new run; nil leaves it out
	Clock   clock.Clock
}
