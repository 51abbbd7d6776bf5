package importer

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/importer/internal/objects"
	"github.com/writ-automation/writ/modules/importer/internal/plan"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides the roles of the context.
var Module = fx.Module("importer", fx.Provide(New))

// Params are the dependencies of the context.
type Params struct {
	fx.In

	Formats []importer.Format `group:"importer.formats"`
	// The ports of the contexts that store what is imported.
	Types       secrets.Types
	Credentials secrets.Credentials
	Projects    catalog.Projects
	Inventories catalog.Inventories
	Sources     catalog.Sources
	Templates   catalog.Templates
	Schedules   scheduling.Schedules
	Planner     scheduling.Planner
	// Rights decides who may import.
	Rights access.Owners
	// Recorder records an applied import in its unit of work.
	Recorder audit.Recorder
	Unit     tx.Unit
	Clock    clock.Clock
	// Local is the zone of schedules without one, nil for UTC.
	Local *time.Location
}

// Result holds the ports of the context.
type Result struct {
	fx.Out

	Importer importer.Importer
}

// New creates the context. Two formats of one name are an error.
func New(p Params) (Result, error) {
	if p.Recorder == nil {
		return Result{}, errors.New("importer: imports need a recorder")
	}
	formats := make(map[string]importer.Format, len(p.Formats))
	for _, f := range p.Formats {
		if formats[f.Name()] != nil {
			return Result{}, fmt.Errorf("importer: two formats have the name %q", f.Name())
		}
		formats[f.Name()] = f
	}
	return Result{Importer: &imports{p, formats, plan.Planner{
		Kinds: objects.Kinds(objects.Ports{
			Types: p.Types, Credentials: p.Credentials, Projects: p.Projects, Inventories: p.Inventories,
			Sources: p.Sources, Templates: p.Templates, Schedules: p.Schedules,
		}),
		Schedule: p.Planner, Unit: p.Unit,
	}}}, nil
}
