package notify

import (
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

// Config of the context. All servers over one database have the same, since each may plan and make deliveries to the
// targets of the others.
type Config struct {
	// Server are targets for every top-level run. Duplicates are ignored.
	Server []notify.Target
	// OnFailure limits the targets of Server to failed runs.
	OnFailure bool
	// PublicURL is the address under which users reach the server, for links. Without it messages have none.
	PublicURL string
	// ReadOnly delivers nothing. Deliveries are still planned.
	ReadOnly bool
}

// Validate returns an Invalid fault that names the first flag with an invalid target and contains nothing of the
// target.
func (c Config) Validate() error {
	for _, t := range c.Server {
		for _, wrong := range notify.Check(runs.Notification{Kind: t.Kind, URL: t.URL.Reveal(), Key: t.Key.Reveal(),
			To: t.To}) {
			if wrong.Location == "kind" {
				return fault.BadField("notify", "the %s %s", wrong.Location, wrong.Message)
			}
			return fault.BadField("notify-"+t.Kind, "the %s %s", wrong.Location, wrong.Message)
		}
	}
	return nil
}
