package evaluate_test

import (
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/writ-automation/writ/modules/policy/internal/evaluate"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// part is what the reference evaluator looks at: a run, or a step of a pipeline.
type part struct {
	tool, command, playbook, inventory, queue, limit string
	project, template, change, profile               string
	credentials, limitHosts                          []string
	labels                                           []map[string]string
	hosts, of                                        int
	dry                                              bool // it only checks
}

// parts reads them from the record. It shares nothing with the evaluator under test, as no function of this file does.
func parts(r *runs.Run, t []policy.Targets) []part {
	if r.Kind != runs.Pipeline {
		return []part{{
			tool: r.Spec.Tool, command: r.Spec.Command, playbook: r.Spec.Playbook, inventory: r.Spec.InventoryID,
			queue: r.Spec.Queue, limit: r.Spec.Limit, project: r.Spec.ProjectID, change: r.Change,
			profile: r.Spec.IsolationProfile, credentials: r.Spec.CredentialIDs, limitHosts: r.Spec.LimitHosts,
			labels: []map[string]string{r.Labels}, hosts: t[0].Hosts, of: t[0].Of,
			dry: r.Spec.DryRun && !(isScript(r.Spec.Tool) && r.Spec.DryRunExecutes),
		}}
	}
	var out []part
	for i, s := range r.Graph.Steps {
		p := part{
			tool: s.Tool, command: s.Command, playbook: s.Playbook, inventory: s.InventoryID, queue: s.Queue, limit: s.Limit,
			project: s.ProjectID, change: r.Change, profile: r.Spec.IsolationProfile, credentials: s.CredentialIDs,
			limitHosts: s.LimitHosts, labels: []map[string]string{r.Labels}, hosts: t[i].Hosts, of: t[i].Of,
		}
		if p.tool == "" {
			p.tool = "ansible"
		}
		if p.queue == "" {
			p.queue = r.Spec.Queue
		}
		if s.Preset != nil {
			out = append(out, launched(r, p, s.StepSpec))
			continue
		}
		p.dry = r.Spec.DryRun && !(isScript(p.tool) && r.Spec.DryRunExecutes)
		if p.inventory == "" {
			p.inventory = r.Spec.InventoryID
		}
		if p.project == "" {
			p.project = r.Spec.ProjectID
		}
		if p.credentials == nil {
			p.credentials = r.Spec.CredentialIDs
		}
		out = append(out, p)
	}
	return out
}

// launched completes the part of a step that launches a template: it inherits no object, and adds to what the pipeline
// is judged by.
func launched(r *runs.Run, p part, s runs.StepSpec) part {
	p.template, p.labels = s.TemplateID, append(p.labels, s.Preset.Labels)
	if p.change == "" {
		p.change = s.Preset.Change
	}
	if s.Preset.IsolationProfile != "" {
		p.profile = s.Preset.IsolationProfile
	}
	p.dry = (r.Spec.DryRun || s.Preset.DryRun) && !(isScript(p.tool) && s.Preset.DryRunExecutes)
	return p
}

// has reports whether a part has a label, of any value if that is a star.
func (p part) has(key, value string) bool {
	for _, labels := range p.labels {
		if have, is := labels[key]; is && (value == "*" || value == have) {
			return true
		}
	}
	return false
}

func isScript(tool string) bool {
	return tool == "bash" || tool == "python" || tool == "powershell" || tool == "go"
}

// commandLevels are the commands of random runs, with the levels that the page of risk states for them.
var commandLevels = map[string]int{"": 0, "ls": 0, "sudo ls": 1, "rm -rf /srv": 2, "reboot": 2, "drop table x;": 3}

// levelOf grades a part from the sentences of the page: 0 is low, 3 is critical.
func levelOf(p part) int {
	level := commandLevels[p.command]
	if p.tool != "ansible" && level < 1 {
		level = 1
	}
	if len(p.credentials) > 0 && level < 1 {
		level = 1
	}
	if (p.has("env", "prod") || p.profile == "host") && level < 2 {
		level = 2
	}
	if !isScript(p.tool) {
		switch {
		case p.hosts > 1000:
			level = 3
		case p.hosts > 100 && level < 2:
			level = 2
		case (p.hosts > 10 || p.hosts < 0) && level < 1:
			level = 1
		}
	}
	if p.dry && level > 0 {
		level--
	}
	return level
}

func contains(list []string, x string) bool { return len(list) == 0 || slices.Contains(list, x) }

func levelNumber(l runs.RiskLevel) int {
	return map[runs.RiskLevel]int{"": 0, "low": 0, "medium": 1, "high": 2, "critical": 3}[l]
}

// meets reports whether a part meets every criterion that is set.
func meets(p policy.Policy, r *runs.Run, x part) bool {
	m := p.Match
	ok := contains(m.Tools, x.tool) && strings.Contains(x.command, m.CommandContains)
	ok = ok && contains(m.InventoryIDs, x.inventory) && (contains(m.TemplateIDs, r.Spec.TemplateID) ||
		x.template != "" && contains(m.TemplateIDs, x.template))
	ok = ok && contains(m.ProjectIDs, x.project) && contains(m.Queues, x.queue)
	ok = ok && (len(m.Sources) == 0 || slices.Contains(m.Sources, r.Origin.Source))
	if m.Playbook != "" {
		matched, err := path.Match(m.Playbook, path.Clean(x.playbook))
		ok = ok && x.playbook != "" && matched && err == nil
	}
	if len(m.CredentialIDs) > 0 {
		uses := false
		for _, id := range m.CredentialIDs {
			uses = uses || slices.Contains(x.credentials, id)
		}
		ok = ok && uses
	}
	for key, value := range m.Labels {
		ok = ok && x.has(key, value)
	}
	if m.HostsOver != nil {
		ok = ok && !isScript(x.tool) && (x.hosts < 0 || x.hosts > *m.HostsOver)
	}
	if m.InventoryShareOver != nil {
		unknown := x.hosts < 0 || x.hosts > 0 && x.of < 0
		more := !unknown && x.of > 0 && float64(x.hosts)/float64(x.of) > float64(*m.InventoryShareOver)/100
		ok = ok && !isScript(x.tool) && (unknown || more)
	}
	if m.LimitMissing {
		ok = ok && x.tool == "ansible" && x.limit == "" && x.limitHosts == nil
	}
	if m.ChangeMissing {
		ok = ok && x.change == ""
	}
	return ok && !(p.ExcludeDryRun && x.dry) && levelOf(x) >= levelNumber(p.RiskAtLeast)
}

func appliesTo(p policy.Policy, who evaluate.Actor) bool {
	for _, a := range p.Actors {
		if a == "user:"+who.ID {
			return true
		}
		for _, team := range who.Teams {
			if a == "team:"+team {
				return true
			}
		}
	}
	return len(p.Actors) == 0
}

// reference evaluates as the contract says, the slow way.
func reference(list []policy.Policy, r *runs.Run, t []policy.Targets, who evaluate.Actor) (string, []runs.Hold, int) {
	list = slices.Clone(list)
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	highest := 0
	for _, x := range parts(r, t) {
		if l := levelOf(x); l > highest {
			highest = l
		}
	}
	denied := ""
	var holds []runs.Hold
	for _, p := range list {
		matches := false
		for _, x := range parts(r, t) {
			matches = matches || meets(p, r, x)
		}
		switch {
		case !p.Enabled || !appliesTo(p, who) || !matches:
		case p.Effect == policy.Deny && denied == "":
			denied = p.ID
		case p.Effect == policy.RequireApproval:
			holds = append(holds, runs.Hold{ID: p.ID, Name: p.Name, Message: p.Message, Needed: p.ApprovalsNeeded,
				Teams: p.ApproverTeams, Distinct: p.DistinctApprover})
		}
	}
	if denied != "" {
		holds = nil
	}
	return denied, holds, highest
}
