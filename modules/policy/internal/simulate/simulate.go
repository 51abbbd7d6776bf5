// Package simulate tells which runs of the past a draft of a policy would have held or denied.
package simulate

import (
	"cmp"
	"iter"

	"github.com/writ-automation/writ/modules/policy/internal/evaluate"
	"github.com/writ-automation/writ/modules/policy/internal/risk"
	"github.com/writ-automation/writ/modules/policy/internal/subject"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// Record is a run of the past, with the ids of the teams of the account that asked for it.
type Record struct {
	Run   *runs.Run
	Teams []string
}

// Simulate compares a policy, whether it is enabled or not, with runs. Children are left out, since their parent was
// evaluated. The hosts of a run are those that it touched: for each step of a pipeline those of the whole pipeline. The
// hosts of a run that was never started or has not ended, and the sizes of inventories, are not known. A run has the
// risk that it was graded as, or is graded now if it was not. The steps of a pipeline are always graded now, since only
// the highest of their levels is stored.
func Simulate(p policy.Policy, records iter.Seq[Record]) policy.Simulation {
	out := policy.Simulation{ByActor: map[string]int{}, ByTemplate: map[string]int{}}
	p.Enabled = true
	list := evaluate.Compile([]policy.Policy{p})
	for rec := range records {
		r := rec.Run
		if r.Kind.Child() {
			continue
		}
		out.Scanned++
		who := evaluate.Actor{ID: r.Requester().ID, Teams: rec.Teams}
		subjects := subject.Of(r, targets(r))
		v := evaluate.Graded(list, subjects, levels(r, subjects), who)
		switch {
		case v.Denied != nil:
			out.Denied++
		case len(v.Holds) > 0:
			out.Held++
		default:
			continue
		}
		out.Matched++
		out.ByActor[cmp.Or(r.Actor.ID, string(r.Actor.Type))]++
		if r.Spec.TemplateID != "" {
			out.ByTemplate[r.Spec.TemplateID]++
		}
		if len(out.Sample) < policy.MaxSample {
			out.Sample = append(out.Sample, r.ID)
		}
	}
	return out
}

func levels(r *runs.Run, subjects []subject.Subject) []runs.RiskLevel {
	if r.Risk.Level != "" && r.Graph == nil {
		return []runs.RiskLevel{r.Risk.Level}
	}
	_, out := risk.GradeAll(subjects)
	return out
}

func targets(r *runs.Run) []policy.Targets {
	if r.StartedAt.IsZero() || !r.Status.Terminal() {
		return nil
	}
	counted := 0
	for _, n := range r.Hosts {
		counted += n
	}
	t := policy.Targets{Hosts: max(counted, r.HostsTouched), Of: -1}
	if r.Graph == nil {
		return []policy.Targets{t}
	}
	out := make([]policy.Targets, len(r.Graph.Steps))
	for i := range out {
		out[i] = t
	}
	return out
}
