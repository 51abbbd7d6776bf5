package overview

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/system"
)

// Module provides the section in shell.Group.
var Module = fx.Module("web.overview", fx.Provide(fx.Annotate(New, fx.ResultTags(shell.Group))))

// Params are the driving ports that the pages read.
type Params struct {
	fx.In

	Work   Work
	Fleet  Fleet
	Checks Checks
	Names  Names
	Clock  clock.Clock
}

// Work is what runs, waits and is due.
type Work struct {
	fx.In

	Runs      runs.Reader
	Insight   runs.Insight `optional:"true"` // nil leaves out the causes of failures
	Queues    execution.Queues
	Schedules scheduling.Schedules
}

// Fleet is how the hosts are.
type Fleet struct {
	fx.In

	Hosts estate.Fleet
	Drift estate.Drift
}

// Checks are of the install itself.
type Checks struct {
	fx.In

	Doctor   system.Doctor
	Licenses system.Licenses
	Tokens   identity.Tokens
	Trail    audit.Trail
	Prover   audit.Prover
}

// Names are the records that the palette finds by their names.
type Names struct {
	fx.In

	Templates   catalog.Templates
	Projects    catalog.Projects
	Inventories catalog.Inventories
	Accounts    identity.Accounts
}
