package policy

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/ports/runs"
)

// Targets are the hosts that a run, or a step of one, would reach.
type Targets struct {
	// Hosts is how many hosts the run selects, and Of how many its inventory has. Both are negative if that is not known
	// before the run.
	Hosts, Of int
}

// UnknownTargets are those of a run whose inventory is only read where it is executed.
func UnknownTargets() Targets { return Targets{-1, -1} }

// Verdict is what the policies say about a request.
type Verdict struct {
	// Risk is the highest of the run and its steps, with the reasons of all.
	Risk runs.Risk
	// Denied is the first policy by name that denies the request, nil if none does.
	Denied *Rule
	// Holds are the policies that hold it, by name. A denied request has none.
	Holds []runs.Hold
	// Timing says when the run may start, also if it is held. It is zero for a denied request.
	Timing Timing
}

// Rule is what a denial says about its policy.
type Rule struct {
	ID, Name, Message string
}

// Denial says that the policy denies a run.
func (r *Rule) Denial() string {
	text := fmt.Sprintf("the policy %q denies the run", r.Name)
	if r.Message != "" {
		text += ": " + r.Message
	}
	return text
}

// Evaluator evaluates requests for runs.
type Evaluator interface {
	// Evaluate evaluates a run before it is stored, in the unit that stores it, or that binds a held run after its
	// inventories were refreshed. Targets are those of the run, or of each step of a pipeline in their order. One step
	// that matches a policy holds or denies the pipeline. The unit fails with PoliciesChanged if the policies or
	// windows change before it commits; it has to be done again then.
	Evaluate(ctx context.Context, r *runs.Run, t []Targets) (Verdict, error)
	// Preview says what Evaluate would say now, by the policies and windows that are committed. It needs no unit, and
	// what it says binds nobody.
	Preview(ctx context.Context, r *runs.Run, t []Targets) (Verdict, error)
	// Timing asks the windows that are committed now about a run that exists. One step that a window matches binds the
	// pipeline. It may be called outside of a unit.
	Timing(ctx context.Context, r *runs.Run, t []Targets) (Timing, error)
	// Recheck fails the unit of ctx with PoliciesChanged if windows change after a Timing and before the unit commits. The
	// unit has to record an entry.
	Recheck(ctx context.Context, t Timing) error
	// Windows counts the changes of windows that are committed now. What Timing said at another count has to be asked
	// again.
	Windows(ctx context.Context) (version int64, err error)
}
