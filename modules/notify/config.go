package notify

import (
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

// Config of the context. Servers over one database have the same: each may plan for, and deliver to, the targets of
// all.
type Config struct {
	// Server are targets that hear of every top-level run. Of equal ones the first counts.
	Server []notify.Target
	// OnFailure lets the targets of Server hear of failed runs alone.
	OnFailure bool
	// ReadOnly delivers nothing. Who would hear of runs is still written down.
	ReadOnly bool
}

// Validate returns an Invalid fault that names the first flag whose target makes no sense, and nothing of the target.
func (c Config) Validate() error {
	for _, t := range c.Server {
		for _, wrong := range notify.Check(runs.Notification{Kind: t.Kind, URL: t.URL.Reveal(), Key: t.Key.Reveal(), To: t.To}) {
			if wrong.Location == "kind" {
				return fault.BadField("notify", "the %s %s", wrong.Location, wrong.Message)
			}
			return fault.BadField("notify-"+t.Kind, "the %s %s", wrong.Location, wrong.Message)
		}
	}
	return nil
}
