package policies

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/policy"
)

const (
	policiesText  = "Policies"
	windowsText   = "Windows"
	sectionText   = "Pages about trust"
	newPolicyText = "New policy"
	newWindowText = "New window"
	editText      = "Edit"
	orderText     = "In this order"
	denyText      = "First, what is denied"
	holdText      = "Then, what is held"
	freeText      = "Everything else starts at once."
	offText       = "Switched off"
	emptyTitle    = "No policy holds or denies anything"
	emptyHint     = "A policy holds runs until somebody approves them, such as those on more than 100 hosts."
	emptyWindows  = "Runs may start at any time"
	windowsHint   = "A window says when runs may start, such as on weekdays between 20:00 and 06:00."
	tryText       = "Try it on the last 30 days"
	triedText     = "On the last 30 days"
	sampleText    = "The newest runs that it matches"
	actorsText    = "Asked by"
	templatesText = "Of templates"
	recordText    = "The record"
	whenText      = "When"
	nextText      = "Next five times"
	tableText     = "All windows, by name"
	noTrialText   = "Nobody knows what it would have done until it is tried. Trying stores nothing."
)

// listSentence says how many policies are in force.
func listSentence(v listView) string {
	on := len(v.Deny) + len(v.Hold)
	if on == 0 {
		return "No policy is in force: every run starts at once."
	}
	return shell.Plural(on, "policy is", "policies are") + " in force."
}

// sentence says in words what a policy does.
func sentence(p policy.Policy) string {
	verb := "Holds"
	if p.Effect == policy.Deny {
		verb = "Denies"
	}
	parts := criteria(p.Match)
	what := " every run"
	if len(parts) > 0 {
		what = " runs " + strings.Join(parts, ", ")
	}
	if p.RiskAtLeast != "" {
		what += ", of at least " + string(p.RiskAtLeast) + " risk"
	}
	if len(p.Actors) > 0 {
		what += ", asked by " + shell.Plural(len(p.Actors), "chosen account or team", "chosen accounts or teams")
	}
	if p.ExcludeDryRun {
		what += ", unless they are dry runs"
	}
	out := verb + what + "."
	if p.Effect == policy.Deny {
		return out
	}
	return out + " " + release(p)
}

// release says who releases what a policy holds.
func release(p policy.Policy) string {
	who := "an administrator"
	if n := p.ApprovalsNeeded; n > 1 {
		who = shell.Count(n) + " administrators"
	}
	if len(p.ApproverTeams) > 0 {
		who = shell.Plural(max(p.ApprovalsNeeded, 1), "member", "members") + " of " +
			shell.Plural(len(p.ApproverTeams), "chosen team")
	}
	if p.DistinctApprover {
		return "Released by " + who + ", but not by whoever asked."
	}
	return "Released by " + who + "."
}

// criteria returns the parts of a match in words.
func criteria(m policy.Match) (out []string) {
	list := func(before, one, many string, values []string) {
		switch len(values) {
		case 0:
		case 1:
			out = append(out, before+one+" "+values[0])
		default:
			out = append(out, before+many+" "+strings.Join(values, " or "))
		}
	}
	list("of ", "the tool", "the tools", m.Tools)
	if m.CommandContains != "" {
		out = append(out, "whose command contains “"+m.CommandContains+"”")
	}
	if m.Playbook != "" {
		out = append(out, "of playbooks like "+m.Playbook)
	}
	chosen := func(noun, plural string, ids []string) {
		if len(ids) > 0 {
			out = append(out, "with "+shell.Plural(len(ids), "chosen "+noun, "chosen "+plural))
		}
	}
	chosen("inventory", "inventories", m.InventoryIDs)
	chosen("template", "templates", m.TemplateIDs)
	chosen("project", "projects", m.ProjectIDs)
	chosen("credential", "credentials", m.CredentialIDs)
	list("in ", "the queue", "the queues", m.Queues)
	sources := make([]string, 0, len(m.Sources))
	for _, s := range m.Sources {
		sources = append(sources, string(s))
	}
	list("from ", "the source", "the sources", sources)
	for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
		out = append(out, "with the label "+name+"="+m.Labels[name])
	}
	if m.HostsOver != nil {
		out = append(out, "on more than "+shell.Plural(*m.HostsOver, "host"))
	}
	if m.InventoryShareOver != nil {
		out = append(out, "on more than "+shell.Count(*m.InventoryShareOver)+" % of their inventory")
	}
	if m.LimitMissing {
		out = append(out, "over a whole inventory without a limit")
	}
	if m.ChangeMissing {
		out = append(out, "that name no change")
	}
	return out
}

// trialSentence says what a policy would have done.
func trialSentence(t *trial) string {
	out := "In the last 30 days this would have held " + shell.Count(t.Held) + " of " + shell.Plural(t.Scanned, "run") +
		" and denied " + shell.Count(t.Denied) + "."
	switch {
	case t.Matched == 0:
		out += " It matched nothing: look whether it says what you mean."
	case t.Matched == t.Scanned:
		out += " It matched everything."
	}
	if t.Truncated {
		out += " There are more runs; only the newest were compared."
	}
	return out
}

// trialGlyph warns about a policy that matches nothing or everything.
func trialGlyph(t *trial) string {
	if t.Matched == 0 || t.Matched == t.Scanned {
		return "chg"
	}
	return "done"
}

// windowSentence says in words what a window does.
func windowSentence(w policy.Window) string {
	what := "Runs"
	if parts := criteria(w.Match); len(parts) > 0 {
		what += " " + strings.Join(parts, ", ")
	}
	verb := " start only within it"
	if w.Mode == policy.DenyWindow {
		verb = " do not start within it"
	}
	outside := "; requests outside of that wait."
	if w.Outside == policy.OutsideDeny {
		outside = "; requests outside of that are refused."
	}
	if !w.Enabled {
		return "Switched off. " + what + verb + outside
	}
	return what + verb + outside
}

// spanText says when a window is open.
func spanText(w policy.Window) string {
	if w.Cron == "" {
		return w.From + " to " + w.To + " " + w.Timezone
	}
	return w.Cron + " for " + shell.Duration(time.Duration(w.Duration)*time.Second) + " " + w.Timezone
}
