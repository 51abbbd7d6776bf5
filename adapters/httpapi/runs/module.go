package runs

import (
	"time"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/runs"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.runs", fx.Provide(fx.Annotate(New, fx.ResultTags(httpapi.Group))))

// Params are the driving ports behind the routes.
type Params struct {
	fx.In

	Submitter  runs.Submitter
	Controller runs.Controller
	Approver   runs.Approver
	Reader     runs.Reader
	Facets     runs.FacetReader
	Streamer   runs.Streamer
	Feed       runs.Feed
	Tickets    runs.Tickets
	Insight    runs.Insight `optional:"true"` // nil leaves its routes out
	Plans      runs.Plans   `optional:"true"` // nil leaves its route out
	// Templates finds the templates that a search names. If it is nil, a search takes ids alone.
	Templates catalog.Templates `optional:"true"`
	Trail     audit.Trail       // nil leaves audit_receipt out
	Clock     clock.Clock
	// Heartbeat is how often a silent stream shows that it lives; 0 means 15 seconds.
	Heartbeat time.Duration `name:"heartbeat" optional:"true"`
}
