package drift

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// Names are the stores that have the names of what plans are about. A nil one has none.
type Names struct {
	Templates catalog.TemplateStore
	Projects  catalog.ProjectStore
}

// planTask is the key of the only task of a target with plans.
func planTask() string { return estate.TaskKey("", "plan") }

// PlanSubscription returns the subscription to the plans of dry runs.
func (c *Consumer) PlanSubscription() events.Subscription {
	return events.On(Subscriber, func(ctx context.Context, _ string, e runs.Planned) error {
		err := background.Retry(ctx, func(ctx context.Context) error { return c.planned(ctx, e.RunID) })
		if err != nil {
			return fmt.Errorf("read the plan of run %s: %w", e.RunID, err)
		}
		return nil
	})
}

// planned stores the findings of a plan as drift.
func (c *Consumer) planned(ctx context.Context, id string) error {
	r, p, err := c.planOf(ctx, id)
	if err != nil || p == nil {
		return err
	}
	check, err := c.planCheck(ctx, r, p.Target)
	if err != nil {
		return err
	}
	h := &check.Hosts[0]
	h.At, h.Checked, h.Whole = p.At, max(1, len(p.Findings)), true
	seen, size := map[string]bool{}, 0
	for i := range p.Findings {
		f := planFinding(&p.Findings[i], h)
		if seen[f.Key] {
			continue
		}
		seen[f.Key] = true
		if size += len(f.Diff); size > estate.MaxDiffs {
			f.Diff = nil
		}
		h.Findings = append(h.Findings, f)
	}
	return c.Unit.Do(ctx, func(ctx context.Context) error {
		found, err := c.Store.Apply(ctx, check, c.Clock.Now())
		if err != nil || len(found) == 0 {
			return err
		}
		ended := *r
		ended.EndedAt = p.At
		return c.tell(ctx, &ended, check.Target, found)
	})
}

// planFinding returns the form of a finding for drift. Another action on a resource is another finding.
func planFinding(f *runs.PlanFinding, h *estate.HostCheck) estate.Finding {
	out := estate.Finding{Host: h.Host, Task: planTask(), Resource: cut(f.Resource, estate.MaxResource),
		Tasks: []string{f.Action}, Confidence: estate.ConfidentPredicted, CheckedAt: h.At}
	out.Key = estate.FindingKey(out.Task, f.Resource+" "+f.Action)
	if f.Diff == "" {
		return out
	}
	out.Confidence = estate.ConfidentDiff
	diff, err := json.Marshal([]map[string]string{{"prepared": f.Diff}})
	if err == nil && len(diff) <= estate.MaxDiff {
		out.Diff = diff
	}
	return out
}

// applied clears the drift that a run has repaired: one that applied a plan, or one that needed none. What the next
// plan finds again is doubted.
func (c *Consumer) applied(ctx context.Context, r *runs.Run) error {
	var target string
	p, err := c.Plans.PlanOf(ctx, r.ID)
	switch {
	case err == nil:
		target = p.Target
	case missing(err) == nil:
		target, err = c.Targets.PlanTarget(r)
	}
	if err != nil {
		return err
	}
	check, err := c.planCheck(ctx, r, target)
	if err != nil {
		return err
	}
	check.Real, check.Hosts[0].At, check.Hosts[0].Changed = true, r.EndedAt, []int{0}
	return c.Unit.Do(ctx, func(ctx context.Context) error {
		_, err := c.Store.Apply(ctx, check, c.Clock.Now())
		return err
	})
}

// planOf returns a run with its plan, or nothing if they were deleted since.
func (c *Consumer) planOf(ctx context.Context, id string) (*runs.Run, *runs.StoredPlan, error) {
	r, err := c.Runs.ByID(ctx, id)
	if err != nil {
		return nil, nil, missing(err)
	}
	p, err := c.Plans.PlanOf(ctx, id)
	if err != nil {
		return nil, nil, missing(err)
	}
	return r, p, nil
}

// missing drops the fault of something that is not there.
func missing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// planCheck returns the result of a run with a plan, without findings. Its only host has the name of what is planned.
func (c *Consumer) planCheck(ctx context.Context, r *runs.Run, target string) (estate.Checked, error) {
	name, err := c.nameOf(ctx, &r.Spec)
	return estate.Checked{Run: r, Target: estate.PlannedTarget(&r.Spec, target, name), Tasks: []string{planTask()},
		Hosts: []estate.HostCheck{{Host: name, States: []estate.TaskState{estate.Known}}}}, err
}

// nameOf returns the name of a run's template, else of its project, else of its tool.
func (c *Consumer) nameOf(ctx context.Context, s *runs.Spec) (string, error) {
	name := ""
	if s.TemplateID != "" && c.Names.Templates != nil {
		t, err := c.Names.Templates.TemplateByID(ctx, s.TemplateID)
		if missing(err) != nil {
			return "", err
		}
		name = t.Name
	}
	if name == "" && s.ProjectID != "" && c.Names.Projects != nil {
		p, err := c.Names.Projects.ProjectByID(ctx, s.ProjectID)
		if missing(err) != nil {
			return "", err
		}
		name = p.Name
	}
	return cmp.Or(name, s.Tool), nil
}
