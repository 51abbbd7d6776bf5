package explain

import (
	"context"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/modules/runs/internal/parent"
	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/runs"
)

func (x *Explainer) Why(ctx context.Context, id string) (*runs.Explanation, error) {
	r, err := x.Runs.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	var children []*runs.Run
	if r.Kind.Parent() {
		if children, err = x.Runs.Children(ctx, id); err != nil {
			return nil, err
		}
	}
	secrets := r.Secrets()
	for i, k := range children {
		children[i] = record.Redact(k, secrets...)
	}
	r = record.Redact(r)
	e := &runs.Explanation{State: r.Status}
	switch {
	case r.Status == runs.PendingApproval:
		e.Reasons, err = x.held(ctx, r)
	case r.Status.Terminal():
		e.Reasons = []runs.Reason{ended(r)}
	case r.Kind == runs.Pipeline || r.Kind == runs.Split && r.ShardCount > 0:
		e.Reasons, err = x.family(ctx, r, children)
	case r.Status == runs.Pending:
		e.Reasons, err = x.pending(ctx, r)
	default:
		e.Reasons = running(r)
	}
	e.Reasons = append(e.Reasons, steps(r, parent.LatestAttempts(children))...)
	return e, err
}

// family explains a parent that has not ended by its children. Shards that wait for the same have one reason together.
func (x *Explainer) family(ctx context.Context, r *runs.Run, children []*runs.Run) ([]runs.Reason, error) {
	out, err := x.gated(ctx, r)
	if err != nil {
		return nil, err
	}
	waits := len(out) > 0 // and its children with it
	if !waits {
		out = []runs.Reason{unfinished(r, children)}
	}
	if r.CancelRequested {
		out = append(out, canceling(r))
	}
	type subject struct{ code, object string }
	known := map[subject]bool{}
	queues := map[string][]runs.Reason{} // asked once each
	for _, k := range children {
		if waits && k.Status == runs.Pending {
			continue
		}
		if _, asked := queues[k.Spec.Queue]; !asked && k.Status == runs.Pending {
			reasons, err := x.pending(ctx, k)
			if err != nil {
				return nil, err
			}
			queues[k.Spec.Queue] = reasons
		}
		reasons, err := x.child(ctx, k, queues[k.Spec.Queue])
		if err != nil {
			return nil, err
		}
		for _, reason := range reasons {
			if key := (subject{reason.Code, reason.Object}); k.Kind != runs.Shard || !known[key] {
				known[key] = true
				out = append(out, reason)
			}
		}
	}
	return out, nil
}

// child explains a child that has not ended. queue is why runs of its queue wait. The object of what concerns the run
// of a step alone is that run.
func (x *Explainer) child(ctx context.Context, k *runs.Run, queue []runs.Reason) (out []runs.Reason, err error) {
	own := true
	switch {
	case k.Status == runs.PendingApproval:
		out, err = x.held(ctx, k)
	case k.Status == runs.Pending:
		out, own = slices.Clone(queue), false
		for i := range out {
			out[i].Since = k.QueuedAt
		}
	case k.Status == runs.Running && k.Kind == runs.Step:
		out = running(k)
	}
	if k.Kind != runs.Step {
		return out, err
	}
	for i := range out {
		out[i].Text = fmt.Sprintf("step %q: %s", k.StepName, out[i].Text)
		if own {
			out[i].Object = k.ID
		}
	}
	if len(out) > 0 && k.Attempt > 1 {
		out = append(out, runs.Reason{Code: "step_retried", Object: k.ID, Since: k.CreatedAt, Next: "the attempt ends",
			Text: fmt.Sprintf("step %q: this is attempt %d, since the one before failed", k.StepName, k.Attempt)})
	}
	return out, err
}

// unfinished counts the children of a parent that have not ended.
func unfinished(r *runs.Run, children []*runs.Run) runs.Reason {
	total, open, noun := r.ShardCount, 0, "shards"
	for _, k := range children {
		if !k.Status.Terminal() {
			open++
		}
	}
	if r.Graph != nil {
		total, open, noun = len(r.Graph.Steps), 0, "steps"
		for i := range r.Graph.Steps {
			if s := r.Graph.Steps[i].Status; s != runs.Skipped && !s.Terminal() {
				open++
			}
		}
	}
	since := r.StartedAt
	if since.IsZero() {
		since = r.QueuedAt
	}
	return runs.Reason{Code: "waiting_for_children", Object: r.ID, Since: since, Next: "the last of them ends",
		Text: fmt.Sprintf("%d of its %d %s have not ended", open, total, noun)}
}

// steps lists the steps of a pipeline that have no run, with the reason of each: a step that waits for others, or that
// was skipped. latest are the newest runs of steps.
func steps(r *runs.Run, latest map[string]*runs.Run) []runs.Reason {
	if r.Graph == nil || r.Status == runs.PendingApproval {
		return nil
	}
	var out []runs.Reason
	for i := range r.Graph.Steps {
		switch s := &r.Graph.Steps[i]; {
		case s.Status == runs.Skipped:
			out = append(out, skipped(r, s, latest))
		case s.Status == "" && !r.Status.Terminal():
			out = append(out, waiting(r, s))
		}
	}
	return out
}

func skipped(r *runs.Run, s *runs.StepState, latest map[string]*runs.Run) runs.Reason {
	out := runs.Reason{Code: "step_skipped", Object: s.Name, Since: r.EndedAt,
		Text: fmt.Sprintf("step %q: the pipeline was canceled before it", s.Name)}
	if r.Canceled != nil {
		out.Since = r.Canceled.At
		out.Text = fmt.Sprintf("step %q: %s canceled the pipeline before it", s.Name, who(r.Canceled.By))
	}
	switch {
	case s.On == runs.OnAlways: // nothing else keeps it from starting
		return out
	case s.On == runs.OnFailure && r.Canceled == nil:
		out.Text = fmt.Sprintf("step %q: it starts after a failure, and no step that it depends on failed", s.Name)
		return out
	}
	for _, name := range s.DependsOn {
		d := r.Graph.Step(name)
		if d == nil || d.Status == runs.Succeeded || d.Refused() && d.ContinueOnFailure {
			continue
		}
		if k := latest[name]; k != nil && k.Status.Terminal() {
			out.Since = k.EndedAt
		}
		out.Text = fmt.Sprintf("step %q: step %q, which it depends on, ended as %s", s.Name, name, d.Status)
		break
	}
	return out
}

func waiting(r *runs.Run, s *runs.StepState) runs.Reason {
	out := runs.Reason{Code: "step_waiting", Object: s.Name, Since: r.QueuedAt,
		Text: fmt.Sprintf("step %q: it has not begun", s.Name), Next: "the pipeline begins it"}
	for _, name := range s.DependsOn {
		if d := r.Graph.Step(name); d != nil && !d.Status.Terminal() && d.Status != runs.Skipped {
			out.Text = fmt.Sprintf("step %q: it depends on step %q, which has not ended", s.Name, name)
			out.Next = fmt.Sprintf("step %q ends", name)
			break
		}
	}
	return out
}
