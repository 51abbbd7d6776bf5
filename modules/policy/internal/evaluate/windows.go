package evaluate

import (
	"context"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/modules/policy/internal/subject"
	"github.com/writ-automation/writ/modules/policy/internal/window"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// compiledWindow is an enabled window with its times, prepared for being compared with many requests.
type compiledWindow struct {
	match Compiled
	window.Window
}

// compileWindows prepares the enabled windows of a list.
func compileWindows(list []policy.Window, c policy.Calendar) ([]compiledWindow, error) {
	out := make([]compiledWindow, 0, len(list))
	for _, w := range list {
		compiled, err := window.Compile(w, c)
		if err != nil {
			return nil, fmt.Errorf("read the times of the window %q: %w", w.Name, err)
		}
		out = append(out, compiledWindow{compile(policy.Policy{Match: w.Match}), compiled})
	}
	return out, nil
}

// timing says when the windows that match a subject of a request let it start.
func (e *Evaluator) timing(c *compiled, subjects []subject.Subject) policy.Timing {
	out := policy.Timing{}
	if len(c.windows) > 0 {
		levels := make([]runs.RiskLevel, len(subjects)) // no criterion of a window asks for them
		var found []*window.Window
		for i := range c.windows {
			if c.windows[i].match.matchesOne(subjects, levels) {
				found = append(found, &c.windows[i].Window)
			}
		}
		out = window.Timing(found, e.clock.Now())
	}
	out.Version = c.of.WindowsVersion
	return out
}

func (e *Evaluator) Timing(ctx context.Context, r *runs.Run, t []policy.Targets) (policy.Timing, error) {
	rules, err := e.set.Fresh(ctx)
	if err != nil {
		return policy.Timing{}, err
	}
	c, err := e.compiled(rules)
	if err != nil {
		return policy.Timing{}, err
	}
	return e.timing(c, subject.Of(r, t)), nil
}

// checkedWindows is the key of the versions that units which share a commit have decided by.
type checkedWindows struct{ by *Evaluator }

// Recheck is Recheck of the rules in force, for windows alone.
func (e *Evaluator) Recheck(ctx context.Context, t policy.Timing) error {
	return tx.BeforeCommit(ctx, tx.Locked, checkedWindows{e}, t.Version, func(ctx context.Context, list []int64) error {
		now, err := e.windows.Version(ctx)
		if err == nil && slices.ContainsFunc(list, func(v int64) bool { return v != now }) {
			return policy.PoliciesChanged.New("the windows were changed meanwhile")
		}
		return err
	})
}

func (e *Evaluator) Windows(ctx context.Context) (int64, error) { return e.windows.Version(ctx) }
