package casbin

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/identity"
)

// Module provides identity.Authorizer. It needs nothing.
var Module = fx.Module("casbin", fx.Provide(func() (identity.Authorizer, error) { return New() }))
