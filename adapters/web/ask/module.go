package ask

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
)

// Module provides the section in shell.Group.
var Module = fx.Module("web.ask", fx.Provide(fx.Annotate(New, fx.ResultTags(shell.Group))))
