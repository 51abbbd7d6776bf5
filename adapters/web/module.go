package web

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

// Module provides the routes of the web interface in httpapi.Group. Sections provide theirs in shell.Group.
var Module = fx.Module("web", fx.Provide(fx.Annotate(New, fx.ResultTags(httpapi.Group))))

// Params are what every page needs, and the sections.
type Params struct {
	fx.In

	Runs     runs.Reader
	Info     system.Info
	Clock    clock.Clock
	Advisor  ai.Advisor      `optional:"true"` // without one, pages offer no advice
	Sections []shell.Section `group:"web.sections"`
}
