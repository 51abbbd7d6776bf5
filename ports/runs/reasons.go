package runs

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/fault"
)

// Explanation explains the state of a run.
type Explanation struct {
	State   Status
	Reasons []Reason
}

// Reason is one part of an explanation, or of a refusal. Object names its subject: a queue, a policy, a worker, a run
// or a step.
type Reason struct {
	Code   string    `json:"code"`
	Text   string    `json:"text"`
	Object string    `json:"object,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Next   string    `json:"next,omitempty"` // what has to happen next; empty if nothing will
}

// reasonsKey is the member of a fault's details that has its reasons.
const reasonsKey = "reasons"

// WithReasons returns a copy of a refusal that explains itself like a run does. A reason without a code or a text has
// those of the refusal.
func WithReasons(f *fault.Error, reasons ...Reason) *fault.Error {
	list := make([]Reason, len(reasons))
	for i, r := range reasons {
		r.Code, r.Text = cmp.Or(r.Code, f.Code), cmp.Or(r.Text, f.Message)
		list[i] = r
	}
	return f.With(reasonsKey, list)
}

// ReasonsOf returns the reasons of a refusal, nil if it has none. One for want of a licence is its own reason.
func ReasonsOf(err error) []Reason {
	var f *fault.Error
	if !errors.As(err, &f) {
		return nil
	}
	if f.Kind == fault.Unlicensed {
		return []Reason{{Code: f.Reason(), Text: f.Message, Next: "an administrator installs a licence that has it"}}
	}
	list, _ := f.Detail[reasonsKey].([]Reason)
	return list
}

// StateReason explains to whoever wants to act on a run that the run is in another state.
func StateReason(r *Run) Reason {
	out := Reason{Code: RunStateChanged.Name, Text: fmt.Sprintf("the run is %s", r.Status), Object: r.ID,
		Since: r.CreatedAt}
	switch {
	case r.Status.Terminal():
		out.Since, out.Next = r.EndedAt, "a rerun makes a new run with the same settings"
	case r.Status == Running:
		out.Since, out.Next = r.StartedAt, "the run ends, or is canceled"
	case r.Status == Pending:
		out.Since, out.Next = r.QueuedAt, "an executor takes the run"
	default:
		out.Next = "the run is approved or rejected"
	}
	return out
}

// RefreshReason explains why nobody can decide about a held run yet.
func RefreshReason(r *Run) Reason {
	return Reason{Code: "refreshing", Object: cmp.Or(r.Spec.InventoryID, r.ID), Since: r.Approvals.Refreshing.Since,
		Text: "the sources of the run's inventory are refreshed, so that the decision is about what they say now",
		Next: "the refresh ends, within about a minute; then the run can be approved or rejected"}
}
