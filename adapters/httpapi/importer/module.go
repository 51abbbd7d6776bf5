package importer

import (
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/importer"
)

// Module provides the routes in httpapi.Group.
var Module = fx.Module("httpapi.importer", fx.Provide(fx.Annotate(New, fx.ResultTags(httpapi.Group))))

// Params are the driving ports behind the routes.
type Params struct {
	fx.In

	Importer importer.Importer
}
