package submit

import (
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

// target checks the form of a notification target.
func (c checks) target(n runs.Notification) {
	for _, f := range notify.Check(n) {
		c.bad(f.Location, "%s", f.Message)
	}
}
