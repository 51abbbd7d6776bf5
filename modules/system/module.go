package system

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/system"
)

// Module provides system.Health. It needs a system.Probe.
var Module = fx.Module("system", fx.Provide(func(p system.Probe) (system.Health, error) {
	return New(Params{Probe: p})
}))
