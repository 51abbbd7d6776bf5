package auth

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

// Module provides the section in shell.Group.
var Module = fx.Module("web.auth", fx.Provide(fx.Annotate(New, fx.ResultTags(shell.Group))))

// Params are the driving ports that the pages read. A provider that is nil has no button.
type Params struct {
	fx.In

	Self      identity.Self
	Tokens    identity.Tokens
	Templates catalog.Templates
	Runs      runs.Reader
	OIDC      identity.Provider `name:"oidc" optional:"true"`
	SAML      identity.Provider `name:"saml" optional:"true"`
}
