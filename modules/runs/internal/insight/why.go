package insight

import (
	"context"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/runs"
)

func (x *Insight) Why(ctx context.Context, id string) (*runs.Explanation, error) {
	r, err := x.store.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	secrets := r.Secrets()
	r = record.Redact(r)
	e := &runs.Explanation{State: r.Status}
	switch r.Status {
	case runs.PendingApproval:
		if e.Reasons, err = x.held(ctx, r); err != nil {
			return nil, err
		}
	case runs.Pending:
		if e.Reasons, err = x.pending(ctx, r); err != nil {
			return nil, err
		}
	case runs.Running:
		e.Reasons = running(r)
	default:
		e.Reasons = append(e.Reasons, ended(r))
	}
	if r.Kind == runs.Pipeline && !r.Status.Terminal() && r.Status != runs.PendingApproval {
		more, err := x.heldSteps(ctx, r.ID, secrets)
		if err != nil {
			return nil, err
		}
		e.Reasons = append(e.Reasons, more...)
	}
	e.Reasons = append(e.Reasons, steps(r)...)
	return e, nil
}

// heldSteps has the reasons of the steps of a pipeline that wait for approval. Their object is the run of the step.
func (x *Insight) heldSteps(ctx context.Context, id string, secrets []string) ([]runs.Reason, error) {
	children, err := x.store.Children(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []runs.Reason
	for _, k := range children {
		if k.Status != runs.PendingApproval {
			continue
		}
		k = record.Redact(k, secrets...)
		reasons, err := x.held(ctx, k)
		if err != nil {
			return nil, err
		}
		for _, reason := range reasons {
			reason.Object = k.ID
			reason.Text = fmt.Sprintf("step %q: %s", k.StepName, reason.Text)
			out = append(out, reason)
		}
	}
	return out, nil
}

func (x *Insight) pending(ctx context.Context, r *runs.Run) ([]runs.Reason, error) {
	if r.Kind == runs.Pipeline || r.ShardCount > 0 && r.Kind == runs.Split {
		return []runs.Reason{{Code: "waiting_for_children", Text: "none of its runs has started", Object: r.ID,
			Since: r.QueuedAt, Next: "an executor takes the first of them"}}, nil
	}
	counts, err := x.store.Counts(ctx)
	if err != nil {
		return nil, err
	}
	var waiting, busy int64
	for _, c := range counts {
		if c.Queue == r.Spec.Queue && c.Status == runs.Pending {
			waiting += c.Runs
		}
		if c.Queue == r.Spec.Queue && c.Status == runs.Running {
			busy += c.Runs
		}
	}
	return []runs.Reason{{Code: "waiting_for_executor", Object: r.Spec.Queue, Since: r.QueuedAt,
		Text: fmt.Sprintf("in the queue %q %d wait and %d run", r.Spec.Queue, waiting, busy),
		Next: "an executor of the queue takes the run"}}, nil
}

func running(r *runs.Run) []runs.Reason {
	var out []runs.Reason
	switch {
	case r.Worker == "":
		out = append(out, runs.Reason{Code: "waiting_for_children", Text: "its runs have not all ended", Object: r.ID,
			Since: r.StartedAt, Next: "the last of them ends"})
	case !r.Begun:
		out = append(out, runs.Reason{Code: "claimed", Text: "an executor has taken the run and prepares it",
			Object: r.Worker,
			Since:  r.QueuedAt, Next: "the executor starts it"})
	default:
		out = append(out, runs.Reason{Code: "executing", Text: "an executor works on the run", Object: r.Worker,
			Since: r.StartedAt, Next: "its process ends"})
	}
	if r.CancelRequested {
		out = append(out, runs.Reason{Code: "cancel_requested", Text: "the cancellation of the run was requested",
			Object: r.Worker, Since: r.StartedAt, Next: "the executor ends its processes"})
	}
	return out
}

func ended(r *runs.Run) runs.Reason {
	out := runs.Reason{Code: string(r.Status), Text: r.Error, Object: r.ID, Since: r.EndedAt}
	switch {
	case r.Status == runs.Rejected && r.Decision != nil:
		out.Object = r.Decision.By.Name
		out.Text = strings.TrimSuffix(fmt.Sprintf("%s rejected the run: %s", r.Decision.By.Name, r.Decision.Reason), ": ")
	case out.Text != "":
	case r.Checked():
		out.Text = "the run was checked, and changed nothing"
	case r.Status == runs.Failed && r.ExitCode != nil:
		out.Text = fmt.Sprintf("the tool ended with exit code %d", *r.ExitCode)
	default:
		out.Text = "the run " + string(r.Status)
		if r.Status == runs.Canceled || r.Status == runs.Rejected || r.Status == runs.Interrupted {
			out.Text = "the run was " + string(r.Status)
		}
	}
	return out
}

// steps lists the steps of a pipeline that started no run, with the reason of each.
func steps(r *runs.Run) []runs.Reason {
	if r.Graph == nil {
		return nil
	}
	var out []runs.Reason
	for i := range r.Graph.Steps {
		s := &r.Graph.Steps[i]
		if s.Status != runs.Skipped {
			continue
		}
		text := "the pipeline was canceled before the step"
		for _, name := range s.DependsOn {
			d := r.Graph.Step(name)
			if d != nil && d.Status != runs.Succeeded && !(d.Refused() && d.ContinueOnFailure) {
				text = fmt.Sprintf("step %q, which it depends on, ended as %s", name, d.Status)
				break
			}
		}
		out = append(out, runs.Reason{Code: "step_skipped", Text: text, Object: s.Name, Since: r.EndedAt})
	}
	return out
}
