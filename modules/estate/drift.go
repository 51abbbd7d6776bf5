package estate

import (
	"github.com/writ-automation/writ/modules/estate/internal/drift"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/object"
)

// driftPart makes what reads drift and repairs it.
func driftPart(p *Params) (estate.Drift, estate.Ignores, *drift.Consumer) {
	consumer := &drift.Consumer{Runs: p.Runs, Events: p.Events, Summaries: p.Summaries, Store: p.Drift,
		Ignores: p.Ignores, Plans: p.Plans, Targets: p.Targets, Inventories: p.Inventories,
		Names: drift.Names{Templates: p.Templates, Projects: p.Projects},
		Unit:  p.Unit, Publisher: p.Publisher, Clock: p.Clock}
	return &drift.Drift{Store: p.Drift, Runs: p.Runs, Plans: p.Plans, Reconciler: p.Reconciler,
			Licenses: p.Licenses, Guard: p.Guard,
			Clock: p.Clock},
		&drift.Ignores{
			Kernel: object.Kernel{Unit: p.Unit, Clock: p.Clock, IDs: p.IDs, Log: p.Log, Recorder: p.Recorder},
			Store:  p.Ignores,
		}, consumer
}
