package argon2

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/identity"
)

// Module provides identity.Hasher. It has no dependencies.
var Module = fx.Module("argon2", fx.Provide(func() identity.Hasher { return New() }))
