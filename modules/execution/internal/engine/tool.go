package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// outcome is the result of a tool's call.
type outcome struct {
	execution.PlayResult
	play bool // a playbook tool ran on hosts
	err  error
}

// call runs the tool. A panic of an extension fails only its run.
func (w *work) call() (out outcome) {
	defer func() {
		if p := recover(); p != nil {
			out.err = fmt.Errorf("the tool panicked: %v", p)
		}
	}()
	if pt, ok := w.playbook(); ok {
		out.play = true
		out.PlayResult, out.err = pt.Play(w.inside(w.ctx), w.playSpec(), w.play(), w.log, w.sink.Add)
		return out
	}
	out.ToolResult, out.err = w.tool.Run(w.inside(w.ctx), w.spec, w.log)
	return out
}

// playbook returns the tool as a playbook tool, if the run names a playbook.
func (w *work) playbook() (execution.PlaybookTool, bool) {
	pt, ok := w.tool.(execution.PlaybookTool)
	return pt, ok && w.run.Spec.Playbook != ""
}

// playSpec leaves the home and temporary directories of a play to its tool, which has the requirements of its modules,
// except those that the run itself or a credential sets.
func (w *work) playSpec() extension.ToolSpec {
	spec := w.spec
	spec.Dir = w.dir.Work() // the checkout stays as it was committed
	spec.Env = maps.Clone(spec.Env)
	for _, name := range []string{"HOME", "TMPDIR"} {
		_, own := w.run.Spec.Env[name]
		if _, provided := w.secrets.Env[name]; !own && !provided {
			delete(spec.Env, name)
		}
	}
	return spec
}

// play returns the run in the form for a playbook tool.
func (w *work) play() execution.Play {
	s, m := &w.run.Spec, &w.material
	p := execution.Play{
		WorkDir: w.e.opt.WorkDir, Playbook: s.Playbook, Inventory: s.Inventory, Controls: s.Controls,
		LimitHosts: s.LimitHosts, Diff: s.DiffMode || s.DryRun, Templated: s.Templated,
		Roles: m.deps.Roles, Collections: m.deps.Collections, Login: w.secrets.Login,
		HostKeys: w.hostKeys.play,
	}
	if len(w.secrets.Vars) > 0 { // variables of credentials are data, also those with the names of templated ones
		p.Templated = slices.DeleteFunc(slices.Clone(s.Templated), func(name string) bool {
			_, provided := w.secrets.Vars[name]
			return provided
		})
	}
	if m.tree != "" {
		p.WorkDir, p.Confined = m.tree, true
	}
	if m.inventory != "" {
		p.Inventory, p.OwnInventory = m.inventory, true
	}
	return p
}

// decode converts variables to Go values in which no number loses a digit.
func decode(vars runs.Vars) (map[string]any, error) {
	out := make(map[string]any, len(vars))
	for k, raw := range vars {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("variable %s: %w", k, err)
		}
		out[k] = v
	}
	return out, nil
}

// divide turns a split into shards over the hosts of its playbook. It starts no run process: until it is divided it
// can be released.
func (w *work) divide() {
	pt, ok := w.playbook()
	if !ok {
		w.settle(w.failed(fmt.Sprintf("the tool %q cannot be split over hosts", w.run.Spec.Tool)))
		return
	}
	ctx, stop := w.bounded()
	defer stop()
	hosts, warnings, err := w.survey(w.inside(ctx), pt)
	w.strip() // storing the hosts may take long
	warnings = append(w.mask(warnings), w.material.warnings...)
	switch cause := w.cause(); {
	case w.lost.Load():
		w.abandonDir()
	case cause == errCanceled:
		w.settle(runs.Ending{Status: runs.Canceled, Warnings: warnings})
	case cause != nil:
		w.e.release(w.job)
		w.discard()
	case ctx.Err() != nil:
		w.settle(w.failed(overTime(w.e.timeout(w.run))))
	case err != nil:
		end := w.failed("the hosts of the run could not be told: " + w.masker.String(err.Error()))
		end.Warnings = warnings
		w.settle(end)
	case len(hosts) == 0:
		code := 0
		w.settle(runs.Ending{Status: runs.Succeeded, ExitCode: &code, Warnings: noHosts(warnings)})
	default:
		w.split(hosts, warnings)
	}
}

// survey requests from the tool the hosts of the run, and the effects of splitting them. A panic of the tool fails
// only the run.
func (w *work) survey(
	ctx context.Context, pt execution.PlaybookTool,
) (hosts []string, warnings []runs.Warning, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the tool panicked: %v", p)
		}
	}()
	var more []runs.Warning
	hosts, warnings, err = pt.Hosts(ctx, w.playSpec(), w.play())
	if err == nil && len(hosts) > 0 {
		more, err = pt.Survey(ctx, w.play())
	}
	return hosts, append(warnings, more...), err
}

// bounded returns the job's context with the run's timeout.
func (w *work) bounded() (context.Context, context.CancelFunc) {
	if limit := w.e.timeout(w.run); limit > 0 {
		return context.WithTimeout(w.ctx, limit)
	}
	return context.WithCancel(w.ctx)
}

// split stores the hosts and ends the claim. Hosts that are refused end the run: another claim would find the same
// ones.
func (w *work) split(hosts []string, warnings []runs.Warning) {
	err := w.e.retry(w.lease.RunID, func(ctx context.Context) error {
		return w.e.Plane.Divide(ctx, w.lease, hosts, warnings)
	})
	switch {
	case fault.Is(err, fault.Invalid), fault.Is(err, fault.TooLarge):
		end := w.failed("the hosts of the run could not be told: " + w.masker.String(err.Error()))
		end.Warnings = warnings
		w.settle(end)
		return
	case err != nil:
		w.e.Log.Warn("divide a split", "run", w.lease.RunID, "error", err)
	}
	w.discard()
}

// propose reports the plan of a dry run that succeeded. A plan that is refused fails the run.
func (w *work) propose(p *extension.Plan, end *runs.Ending) {
	if p == nil || !w.run.Spec.DryRun || end.Status != runs.Succeeded {
		return
	}
	plan := w.plan(p)
	err := plan.Check()
	if err == nil {
		err = w.e.retry(w.lease.RunID, func(ctx context.Context) error {
			_, err := w.e.Plane.ProposeApply(ctx, w.lease, plan)
			return err
		})
	}
	switch {
	case runs.LeaseLost.Is(err):
		w.giveUp()
	case err != nil:
		end.Status, end.Error = runs.Failed, w.text("the plan of the tool was refused: "+err.Error())
	}
}

// plan returns the plan of a tool with masked texts.
func (w *work) plan(p *extension.Plan) runs.Plan {
	out := runs.Plan{Summary: w.planText(p.Summary, false), Digest: p.Digest}
	for _, f := range p.Findings[:min(len(p.Findings), extension.PlanFindings+1)] { // one more is refused
		out.Findings = append(out.Findings, runs.PlanFinding{Resource: w.planText(f.Resource, false),
			Action: w.planText(f.Action, false), Diff: w.planText(f.Diff, true)})
	}
	return out
}

func (w *work) planText(s string, lines bool) string {
	return runs.CleanPlanText(w.masker.String(s), lines)
}
