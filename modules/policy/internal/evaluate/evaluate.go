// Package evaluate compares requests for runs with policies. It depends on its arguments only.
package evaluate

import (
	"path"
	"strings"

	"github.com/writ-automation/writ/modules/policy/internal/risk"
	"github.com/writ-automation/writ/modules/policy/internal/subject"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// Actor is the account that asks for a run, with the ids of its teams.
type Actor struct {
	ID    string
	Teams []string
}

// Request grades a request and compares it with policies that were compiled. A policy matches a request if it matches
// one of its subjects, and is named once.
func Request(list []Compiled, subjects []subject.Subject, who Actor) policy.Verdict {
	grade, levels := risk.GradeAll(subjects)
	out := Graded(list, subjects, levels, who)
	out.Risk = grade
	return out
}

// Graded does the same for subjects whose levels are known. It leaves the risk of the verdict empty.
func Graded(list []Compiled, subjects []subject.Subject, levels []runs.RiskLevel, who Actor) policy.Verdict {
	var out policy.Verdict
	for i := range list {
		c := &list[i]
		if !c.concerns(who) || !c.matchesOne(subjects, levels) {
			continue
		}
		p := &c.policy
		if p.Effect == policy.Deny {
			return policy.Verdict{Denied: &policy.Rule{ID: p.ID, Name: p.Name, Message: p.Message}}
		}
		out.Holds = append(out.Holds, runs.Hold{
			ID: p.ID, Name: p.Name, Message: p.Message, Needed: max(p.ApprovalsNeeded, 1), Teams: p.ApproverTeams,
			Distinct: p.DistinctApprover,
		})
	}
	return out
}

func (c *Compiled) concerns(who Actor) bool {
	return len(c.policy.Actors) == 0 || c.accounts.hasOneOf([]string{who.ID}) || c.teams.hasOneOf(who.Teams)
}

func (c *Compiled) matchesOne(subjects []subject.Subject, levels []runs.RiskLevel) bool {
	for i := range subjects {
		if c.matches(&subjects[i], levels[i]) {
			return true
		}
	}
	return false
}

// matches asks the cheap criteria first.
func (c *Compiled) matches(s *subject.Subject, level runs.RiskLevel) bool {
	m := &c.policy.Match
	switch {
	case c.policy.ExcludeDryRun && s.DryRun,
		!level.AtLeast(c.policy.RiskAtLeast),
		m.LimitMissing && (s.Limited || s.Tool != runs.Ansible),
		m.ChangeMissing && s.Change != "",
		m.HostsOver != nil && !over(s.Targets, *m.HostsOver),
		m.InventoryShareOver != nil && !shareOver(s.Targets, *m.InventoryShareOver):
		return false
	}
	return c.tools.admits(s.Tool) && c.inventories.admits(s.InventoryID) && c.ofTemplate(s) &&
		c.projects.admits(s.ProjectID) && c.queues.admits(s.Queue) && c.sources.admits(string(s.Source)) &&
		(c.credentials == nil || c.credentials.hasOneOf(s.CredentialIDs)) && labelled(s, m.Labels) &&
		c.plays(s.Playbook) && strings.Contains(s.Command, m.CommandContains)
}

// ofTemplate takes the template of the whole request and that of the step.
func (c *Compiled) ofTemplate(s *subject.Subject) bool {
	return c.templates.admits(s.TemplateID) || s.StepTemplateID != "" && c.templates.admits(s.StepTemplateID)
}

// plays reports whether the pattern matches a playbook. A pattern that is none matches nothing.
func (c *Compiled) plays(playbook string) bool {
	if c.playbook == "" {
		return true
	}
	ok, err := path.Match(c.playbook, playbook)
	return ok && err == nil && playbook != ""
}

// over takes hosts that are not known as any number.
func over(t policy.Targets, hosts int) bool { return t.Hosts < 0 || t.Hosts > hosts }

// shareOver takes any host of an inventory of unknown size as more than the share.
func shareOver(t policy.Targets, percent int) bool {
	return t.Hosts < 0 || t.Hosts*100 > percent*max(t.Of, 0)
}

func labelled(s *subject.Subject, want map[string]string) bool {
	for key, value := range want {
		if !s.Labelled(key, func(x string) bool { return value == "*" || x == value }) {
			return false
		}
	}
	return true
}
