package check

import (
	"time"

	"github.com/writ-automation/writ/modules/policy/internal/window"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
)

// Window returns a window with a name that is clean. An Invalid fault names the first field that is wrong. Whether what
// the window names exists is not checked.
func Window(w policy.Window, c policy.Calendar) (policy.Window, error) {
	name, err := object.Name(w.Name)
	if w.Name, w.Org = name, ""; err != nil {
		return policy.Window{}, err
	}
	switch {
	case w.Mode != policy.AllowWindow && w.Mode != policy.DenyWindow:
		err = fault.NoneOf("mode", w.Mode, policy.AllowWindow, policy.DenyWindow)
	case w.Outside != policy.OutsideWait && w.Outside != policy.OutsideDeny:
		err = fault.NoneOf("outside", w.Outside, policy.OutsideWait, policy.OutsideDeny)
	default:
		err = match(&w.Match)
	}
	if err == nil {
		err = times(&w)
	}
	if err == nil {
		_, err = window.Compile(w, c)
	}
	if err != nil {
		return policy.Window{}, err
	}
	return w, nil
}

// times checks that a window has times of one kind.
func times(w *policy.Window) error {
	const lowest, highest = int64(policy.MinWindowDuration / time.Second), int64(policy.MaxWindowDuration / time.Second)
	switch {
	case w.Cron == "" && w.From == "" && w.To == "":
		return fault.BadField("cron", "expected cron and duration, or from and to")
	case w.Cron != "" && w.From != "":
		return fault.BadField("from", "is not for a window with cron")
	case w.Cron != "" && w.To != "":
		return fault.BadField("to", "is not for a window with cron")
	case w.Cron != "" && (w.Duration < lowest || w.Duration > highest):
		return fault.BadField("duration", "expected %d to %d seconds", lowest, highest)
	case w.Cron == "" && w.Duration != 0:
		return fault.BadField("duration", "is only for a window with cron")
	}
	return nil
}
