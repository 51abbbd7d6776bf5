package estate

import (
	"time"

	"github.com/writ-automation/writ/modules/estate/internal/fleet"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/events"
)

// The pauses before the first trimming and between two. It is never urgent.
const (
	trimFirst = time.Minute
	trimEvery = time.Hour
)

// newFleet makes the part that knows the results of hosts and tasks. A read-only process trims nothing. It stores the
// results of runs, since nobody else would.
func newFleet(p *Params) (*fleet.Fleet, events.Subscription, background.Group) {
	f := &fleet.Fleet{Store: p.Fleet, Guard: p.Guard, Clock: p.Clock, Facts: p.Facts, Drift: p.Drift}
	c := &fleet.Consumer{Runs: p.Runs, Summaries: p.Summaries, Store: p.Fleet, Unit: p.Unit}
	var work background.Group
	if !p.Config.ReadOnly {
		if p.Config.RetainHistory < estate.MinHistory {
			p.Log.Warn("retain-history is raised to its least value", "configured", p.Config.RetainHistory,
				"used", estate.MinHistory)
		}
		r := &fleet.Retention{Store: p.Fleet, Unit: p.Unit, Keep: max(p.Config.RetainHistory, estate.MinHistory)}
		work = append(work, &background.Loop{Name: "trim history", Pass: r.Pass, First: trimFirst, Every: trimEvery})
	}
	return f, c.Subscription(), work
}
