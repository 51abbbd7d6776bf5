package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// running explains a run that an executor holds.
func running(r *runs.Run) []runs.Reason {
	worker := execution.ShownName(r.Worker)
	out := []runs.Reason{{Code: "executing", Text: "an executor works on the run", Object: worker, Since: r.StartedAt,
		Next: "its process ends"}}
	if !r.Begun {
		out[0] = runs.Reason{Code: "claimed", Text: "an executor has taken the run and prepares it", Object: worker,
			Since: r.QueuedAt, Next: "the executor starts it"}
	}
	if r.CancelRequested {
		out = append(out, canceling(r))
	}
	return out
}

// canceling explains a run that was asked to end.
func canceling(r *runs.Run) runs.Reason {
	out := runs.Reason{Code: "cancel_requested", Text: "the cancellation of the run was requested",
		Object: execution.ShownName(r.Worker), Since: r.StartedAt, Next: "the executor ends its processes"}
	if r.Worker == "" {
		out.Object, out.Next = r.ID, "those of its runs that have started end"
	}
	if c := r.Canceled; c != nil {
		out.Text, out.Since = who(c.By)+" asked to cancel the run", c.At
	}
	return out
}

func who(a actor.Actor) string { return cmp.Or(a.Name, string(a.Type), "somebody") }

// ended explains the end of a run.
func ended(r *runs.Run) runs.Reason {
	out := runs.Reason{Code: string(r.Status), Text: r.Error, Object: r.ID, Since: r.EndedAt}
	switch {
	case r.Status == runs.Rejected && r.Decision != nil:
		out.Object = r.Decision.By.Name
		out.Text = strings.TrimSuffix(fmt.Sprintf("%s rejected the run: %s", r.Decision.By.Name, r.Decision.Reason), ": ")
	case r.Status == runs.Canceled && r.Canceled != nil:
		out.Object = who(r.Canceled.By)
		out.Text = strings.TrimSuffix(fmt.Sprintf("%s canceled the run: %s", out.Object, r.Error), ": ")
	case r.Status == runs.Interrupted:
		out.Text = "the run was interrupted"
		if r.Error != "" {
			out.Text += ": " + r.Error
		}
		if r.Worker != "" {
			out.Object = execution.ShownName(r.Worker)
		}
		out.Next = "somebody looks at what it has done and runs it again; nothing repeats it by itself"
	case out.Text != "":
	case r.Checked():
		out.Text = "the run was checked, and changed nothing"
	case r.Status == runs.Failed && r.ExitCode != nil:
		out.Text = fmt.Sprintf("the tool ended with exit code %d", *r.ExitCode)
	default:
		out.Text = "the run " + string(r.Status)
		if r.Status == runs.Canceled || r.Status == runs.Rejected {
			out.Text = "the run was " + string(r.Status)
		}
	}
	return out
}
