package help

import (
	"io/fs"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/web/shell"
)

// Module provides the section in shell.Group.
var Module = fx.Module("web.help", fx.Provide(fx.Annotate(New, fx.ResultTags(shell.Group))))

// Pages are the documents that the server shows.
type Pages struct{ fs.FS }

// Params are the pages that are shown.
type Params struct {
	fx.In

	// Pages may hold nil, which leaves the documents out.
	Pages Pages `optional:"true"`
}
