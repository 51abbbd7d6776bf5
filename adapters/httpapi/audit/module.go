package audit

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/runs"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.audit", fx.Provide(fx.Annotate(provide, fx.ResultTags(httpapi.Group))))

type moduleParams struct {
	fx.In
	Trail    audit.Trail
	Prover   audit.Prover
	Reporter audit.Reporter
	Audience audit.Audience
	Runs     runs.Reader
	Clock    clock.Clock
}

func provide(p moduleParams) httpapi.Routes {
	return New(Params{Trail: p.Trail, Prover: p.Prover, Reporter: p.Reporter, Audience: p.Audience, Runs: p.Runs,
		Clock: p.Clock})
}
