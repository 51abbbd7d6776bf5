// Package subject describes what policies and the rules of risk look at: a run, or each step of a pipeline with what
// it inherits.
package subject

import (
	"cmp"
	"encoding/json"
	"path"
	"strings"
	"unicode"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// Subject is one execution that a request asks for. It shares its maps and lists with the run.
type Subject struct {
	Tool, Command string
	// Playbook is a clean path, empty without one.
	Playbook                                  string
	InventoryID, TemplateID, ProjectID, Queue string
	StepTemplateID                            string // the template that a step launches
	Source                                    runs.Source
	CredentialIDs                             []string
	Labels                                    map[string]string
	StepLabels                                map[string]string // of the template that a step launches
	// Limited reports that a limit selects hosts of the inventory.
	Limited bool
	Change  string
	// DryRun reports that the tool only checks. A script that a dry run executes is none.
	DryRun bool
	// Profile is the isolation profile, empty for the executor's own.
	Profile string
	Env     map[string]string
	// Vars are the layers of variables, the one that wins first.
	Vars [2]runs.Vars
	// Targets are zero for a script, which runs on the executor. They are negative if they are not known.
	Targets policy.Targets
}

// Of returns the subjects of a request: the steps of a pipeline in their order, else the run itself. Targets that are
// missing are not known.
func Of(r *runs.Run, t []policy.Targets) []Subject {
	base := Subject{
		TemplateID: r.Spec.TemplateID, ProjectID: r.Spec.ProjectID, Source: r.Origin.Source, Labels: r.Labels,
		Change: r.Change, DryRun: r.Spec.OnlyChecks(), Profile: r.Spec.IsolationProfile, Env: r.Spec.Env,
	}
	if r.Graph == nil {
		s := base
		s.Tool, s.Command, s.Playbook = cmp.Or(r.Spec.Tool, runs.Ansible), r.Spec.Command, clean(r.Spec.Playbook)
		s.InventoryID, s.Queue = r.Spec.InventoryID, cmp.Or(r.Spec.Queue, runs.DefaultQueue)
		s.CredentialIDs, s.Vars[0] = r.Spec.CredentialIDs, r.Vars
		s.Limited = len(r.Spec.LimitHosts)+len(r.ShardHosts) > 0 || limits(r.Spec.Limit)
		s.Targets = targets(&s, t, 0)
		return []Subject{s}
	}
	out := make([]Subject, len(r.Graph.Steps))
	for i := range out {
		step, s := &r.Graph.Steps[i].StepSpec, &out[i]
		spec := step.Of(&r.Spec)
		*s = base
		s.Tool, s.Command, s.Playbook = spec.Tool, spec.Command, clean(spec.Playbook)
		s.InventoryID, s.ProjectID, s.Queue = spec.InventoryID, spec.ProjectID, spec.Queue
		s.CredentialIDs = spec.CredentialIDs
		s.StepTemplateID, s.DryRun, s.Profile = step.TemplateID, spec.OnlyChecks(), spec.IsolationProfile
		if x := step.Preset; x != nil {
			s.StepLabels, s.Change = x.Labels, cmp.Or(r.Change, x.Change)
		}
		s.Vars = [2]runs.Vars{step.ExtraVars, r.Graph.Vars}
		s.Limited = len(step.LimitHosts) > 0 || limits(step.Limit)
		s.Targets = targets(s, t, i)
	}
	return out
}

// Labelled reports whether a label of the run, or of the template that a step launches, has a value that is asked for.
func (s *Subject) Labelled(key string, is func(value string) bool) bool {
	for _, labels := range [...]map[string]string{s.Labels, s.StepLabels} {
		if value, ok := labels[key]; ok && is(value) {
			return true
		}
	}
	return false
}

// Script reports whether the tool reaches no host of an inventory itself.
func (s *Subject) Script() bool { return extension.Script(s.Tool) }

// Setting returns a variable as text, else the variable of the environment that Ansible reads for it, else nothing. A
// value that is no text is its JSON.
func (s *Subject) Setting(name, env string) string {
	for _, layer := range s.Vars {
		raw, ok := layer[name]
		if !ok {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) == nil {
			return text
		}
		return string(raw)
	}
	return s.Env[env]
}

func clean(playbook string) string {
	if playbook == "" {
		return ""
	}
	return path.Clean(playbook)
}

// limits reports whether a limit names anything. Ansible takes a limit of separators alone as none.
func limits(limit string) bool {
	return strings.ContainsFunc(limit, func(r rune) bool { return r != ',' && r != ':' && !unicode.IsSpace(r) })
}

func targets(s *Subject, t []policy.Targets, i int) policy.Targets {
	switch {
	case s.Script():
		return policy.Targets{}
	case i >= len(t) || t[i].Hosts < 0:
		return policy.UnknownTargets()
	}
	return policy.Targets{Hosts: t[i].Hosts, Of: max(t[i].Of, -1)}
}
