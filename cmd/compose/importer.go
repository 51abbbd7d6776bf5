package compose

import (
	"go.uber.org/fx"

	httpimporter "github.com/writ-automation/writ/adapters/httpapi/importer"
	"github.com/writ-automation/writ/adapters/importers/awx"
	"github.com/writ-automation/writ/adapters/importers/chef"
	"github.com/writ-automation/writ/adapters/importers/jenkins"
	"github.com/writ-automation/writ/adapters/importers/puppet"
	"github.com/writ-automation/writ/adapters/importers/rundeck"
	"github.com/writ-automation/writ/adapters/importers/semaphore"
	importermodule "github.com/writ-automation/writ/modules/importer"
	"github.com/writ-automation/writ/ports/importer"
)

// ImportFormats returns the formats of exports that servers import.
func ImportFormats() []importer.Format {
	return []importer.Format{awx.New(), chef.New(), jenkins.New(), puppet.New(), rundeck.New(), semaphore.New()}
}

// importing provides imports and their REST operation.
func importing() fx.Option {
	return fx.Options(
		fx.Module("importing", fx.Provide(fx.Annotate(ImportFormats, fx.ResultTags(`group:"importer.formats,flatten"`)))),
		importermodule.Module, httpimporter.Module,
	)
}
