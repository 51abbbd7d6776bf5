package settings

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/system"
)

// Module provides the section in shell.Group.
var Module = fx.Module("web.settings", fx.Provide(fx.Annotate(New, fx.ResultTags(shell.Group))))

// Params are the driving ports that the pages read.
type Params struct {
	fx.In

	Accounts     identity.Accounts
	Tokens       identity.Tokens
	Teams        identity.Teams
	Orgs         identity.Orgs
	Grants       identity.Grants
	Credentials  secrets.Credentials
	Types        secrets.Types
	Doctor       system.Doctor
	Licenses     system.Licenses
	DeadLetters  system.DeadLetters
	Extensions   system.Extensions
	Fleet        execution.Fleet
	WorkerTokens execution.WorkerTokens
}
