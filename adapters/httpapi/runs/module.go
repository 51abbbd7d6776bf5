package runs

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/runs"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.runs", fx.Provide(fx.Annotate(provide, fx.ResultTags(httpapi.Group))))

type moduleParams struct {
	fx.In
	Submitter  runs.Submitter
	Controller runs.Controller
	Approver   runs.Approver
	Reader     runs.Reader
	Streamer   runs.Streamer
	Tickets    runs.Tickets
	Insight    runs.Insight `optional:"true"`
	Trail      audit.Trail
	Clock      clock.Clock
}

func provide(p moduleParams) httpapi.Routes {
	return New(Params{
		Submitter: p.Submitter, Controller: p.Controller, Approver: p.Approver, Reader: p.Reader, Streamer: p.Streamer,
		Tickets: p.Tickets, Insight: p.Insight, Trail: p.Trail, Clock: p.Clock,
	})
}
