package casbin

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/identity"
)

// Module provides identity.Authorizer. It needs a Config and identity.RightsStore.
var Module = fx.Module("casbin", fx.Provide(
	func(cfg Config, store identity.RightsStore) (identity.Authorizer, error) { return New(cfg, store) },
))
