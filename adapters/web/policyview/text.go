package policyview

import (
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/policy"
)

const (
	sampleText    = "The newest runs that it matches"
	actorsText    = "Asked by"
	templatesText = "Of templates"
	noTrialText   = "Nobody knows what it would have done until it is tried. Trying stores nothing."
)

// Names returns the name of a record, empty if it is not known.
type Names func(id string) string

// Sentence says in words what a policy does. Records without a name are counted; names may be nil.
func Sentence(p policy.Policy, names Names) string {
	verb := "Holds"
	if p.Effect == policy.Deny {
		verb = "Denies"
	}
	parts := Criteria(p.Match, names)
	what := " every run"
	if len(parts) > 0 {
		what = " runs " + strings.Join(parts, ", ")
	}
	if p.RiskAtLeast != "" {
		what += ", of at least " + string(p.RiskAtLeast) + " risk"
	}
	if len(p.Actors) > 0 {
		what += ", asked by " + chosen("account or team", "accounts or teams", p.Actors, names)
	}
	if p.ExcludeDryRun {
		what += ", unless they are dry runs"
	}
	out := verb + what + "."
	if p.Effect == policy.Deny {
		return out
	}
	return out + " " + release(p, names)
}

// chosen names records, or counts them if one of them has no name.
func chosen(one, many string, ids []string, names Names) string {
	known := make([]string, 0, len(ids))
	for _, id := range ids {
		if names == nil || names(id) == "" {
			return shell.Plural(len(ids), "chosen "+one, "chosen "+many)
		}
		known = append(known, names(id))
	}
	if len(ids) == 1 {
		return "the " + one + " " + known[0]
	}
	return "the " + many + " " + strings.Join(known, " or ")
}

// release says who releases what a policy holds.
func release(p policy.Policy, names Names) string {
	n := max(p.ApprovalsNeeded, 1)
	who := "an administrator"
	if n > 1 {
		who = shell.Count(n) + " administrators"
	}
	if len(p.ApproverTeams) > 0 {
		who = shell.Plural(n, "member", "members") + " of " + chosen("team", "teams", p.ApproverTeams, names)
	}
	if p.DistinctApprover {
		return "Released by " + who + ", but not by whoever asked."
	}
	return "Released by " + who + "."
}

// Criteria returns the parts of a match in words.
func Criteria(m policy.Match, names Names) (out []string) {
	list := func(before, one, many string, values []string) {
		switch len(values) {
		case 0:
		case 1:
			out = append(out, before+one+" "+values[0])
		default:
			out = append(out, before+many+" "+strings.Join(values, " or "))
		}
	}
	with := func(noun, plural string, ids []string) {
		if len(ids) > 0 {
			out = append(out, "with "+chosen(noun, plural, ids, names))
		}
	}
	list("of ", "the tool", "the tools", m.Tools)
	if m.CommandContains != "" {
		out = append(out, "whose command contains “"+m.CommandContains+"”")
	}
	if m.Playbook != "" {
		out = append(out, "of playbooks like "+m.Playbook)
	}
	with("inventory", "inventories", m.InventoryIDs)
	with("template", "templates", m.TemplateIDs)
	with("project", "projects", m.ProjectIDs)
	with("credential", "credentials", m.CredentialIDs)
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

// sentence says what a policy would have done.
func (t *Trial) sentence() string {
	out := "In the last 30 days this would have held " + shell.Count(t.Held) + " of " + shell.Plural(t.Scanned, "run") +
		" and denied " + shell.Count(t.Denied) + "."
	switch {
	case t.Scanned == 0:
		out += " There were no runs to compare it with."
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

// glyph warns about a policy that matches nothing or everything.
func (t *Trial) glyph() string {
	if t.Matched == 0 || t.Matched == t.Scanned {
		return "chg"
	}
	return "done"
}

// fired says which of the newest runs schedules asked for, and when they would have waited or been refused.
func (t *Trial) fired() string {
	n := 0
	for _, f := range t.Schedules {
		n += f.N
	}
	if n == 0 {
		return ""
	}
	verb := "waited"
	if t.Denied > 0 {
		verb = "been refused"
	}
	which, they := "were schedules: they", " of the newest "
	if n == 1 {
		which = "was a schedule: it"
	}
	at := make([]string, 0, len(t.Schedules))
	for _, f := range t.Schedules {
		at = append(at, f.Name+" at "+strings.Join(f.At, ", "))
	}
	return shell.Count(n) + they + shell.Plural(len(t.Runs), "run") + " " + which + " would have " + verb + ", " +
		strings.Join(at, "; ") + "."
}
