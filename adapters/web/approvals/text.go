package approvals

import (
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
)

// The texts of the section.
const (
	title          = "Approvals"
	emptyTitle     = "Nothing waits for approval."
	emptyText      = "Runs that a policy or a template holds are listed here until somebody decides."
	policiesLink   = "Policies"
	hostsLink      = "See all hosts"
	changeTitle    = "What it would change"
	unknownChange  = "Nobody knows yet what it would change."
	dryRunButton   = "Dry run now"
	dryRunOthers   = "Administrators and the person who asked can start a dry run."
	noDryRun       = "A script has no difference to show before it runs."
	previewGone    = "The dry run was deleted."
	previewStale   = "The dry run is of an earlier state: what would run has changed since."
	previewNothing = "The dry run changes nothing."
	exactlyTitle   = "You approve exactly this"
	boundText      = "If commit, hosts, inputs or plan change, it is held again."
	decidersTitle  = "Who decides"
	earlierTitle   = "Earlier decisions"
	approveText    = "Approve"
	rejectText     = "Reject"
	backText       = "Back"
	reasonOptional = "Reason, if you want to leave one"
	reasonMissing  = "Write why, so that the person who asked can act on it."
	approveEffect  = "It starts as soon as a worker is free. Your name and reason become an entry of the trail."
	approvePartly  = "It starts when all approvals are there. Your name and reason become an entry of the trail."
	rejectEffect   = "Nothing runs. Your name and reason become an entry of the trail."
	approvedDone   = "Approved."
	rejectedDone   = "Rejected."
	readOnlyText   = "This install is read-only."
	refreshingText = "The sources of the inventory are being refreshed. You can decide when that has ended."
	givenText      = "You have approved this."
	ownText        = "You asked for this. Somebody else must decide."
	notYoursText   = "You may not decide about this."
	nobodyText     = "Nobody else may: an administrator can add people."
	adminsText     = "administrators"
	otherText      = "Needs somebody else"
	unknownHosts   = "Its hosts are not known before it runs"
	noHosts        = "It runs on the executor, without hosts"
	openRunText    = "Open the run"
	noRiskText     = "It was not graded."
	requestedText  = "Its template or request"
)

func countWaiting(n int) string {
	if n == 1 {
		return "1 waits"
	}
	return shell.Count(n) + " wait"
}

func teamsText(names []string) string {
	if len(names) == 1 {
		return "members of the team " + names[0]
	}
	return "members of the teams " + strings.Join(names, ", ")
}

func decidersText(holds []holdView) string {
	var who []string
	for _, h := range holds {
		who = append(who, h.who)
	}
	return "These decide: " + strings.Join(who, "; ") + "."
}

func mayText(names []string, all int) string {
	text := "These people may: " + strings.Join(names, ", ")
	if all > len(names) {
		text += " and " + shell.Count(all-len(names)) + " more"
	}
	return text + "."
}

// onHosts says on how many hosts a run executes, empty if there is nothing to say.
func onHosts(x *runs.Reach) string {
	switch {
	case x == nil:
		return ""
	case x.Unknown && len(x.Hosts) == 0:
		return "unknown hosts"
	case x.Unknown:
		return "at least " + shell.Plural(len(x.Hosts), "host")
	case len(x.Hosts) == 0:
		return "no hosts"
	}
	return shell.Plural(len(x.Hosts), "host")
}

func hostsTitle(h hostView) string {
	switch {
	case h.none:
		return noHosts
	case h.unknown && len(h.names) == 0:
		return unknownHosts
	}
	text := shell.Plural(len(h.names), "host")
	if h.unknown {
		text = "At least " + text
	}
	switch n := len(h.added) - len(h.gone); {
	case h.before == nil:
		return text
	case n > 0:
		return text + ", " + shell.Count(n) + " more than last time"
	case n < 0:
		return text + ", " + shell.Count(-n) + " fewer than last time"
	}
	return text + ", as many as last time"
}

// named lists the first names of some hosts after a word.
func named(word string, hosts []string) string {
	text := word + ": " + strings.Join(hosts[:min(len(hosts), maxNames)], ", ")
	if len(hosts) > maxNames {
		text += " and " + shell.Count(len(hosts)-maxNames) + " more"
	}
	return text + "."
}

func riskWord(l runs.RiskLevel) string {
	switch l {
	case runs.MediumRisk:
		return "Medium risk"
	case runs.HighRisk:
		return "High risk"
	case runs.CriticalRisk:
		return "Critical risk"
	case runs.LowRisk:
	}
	return "Low risk"
}

// riskHue returns the class of a level of risk.
func riskHue(l runs.RiskLevel) string {
	switch l {
	case runs.MediumRisk:
		return "chg"
	case runs.HighRisk:
		return "hold"
	case runs.CriticalRisk:
		return "fail"
	case runs.LowRisk:
	}
	return "idle"
}

func riskReasons(r runs.Risk) string {
	if len(r.Reasons) == 0 {
		return "No rule raised it."
	}
	var out []string
	for _, reason := range r.Reasons {
		reason = strings.TrimSuffix(reason, ".")
		if reason != "" {
			out = append(out, strings.ToUpper(reason[:1])+reason[1:])
		}
	}
	return strings.Join(out, ". ") + "."
}

// previewText says what the dry run has found.
func previewText(p *runs.Preview, v changeView) string {
	hosts := 0
	for _, n := range p.Hosts {
		hosts += n
	}
	switch {
	case p.Status == "":
		return previewGone
	case !p.Status.Terminal():
		return "A dry run is under way: " + shell.Plural(hosts, "host") + " so far."
	case p.Error != "":
		return "The dry run failed: " + p.Error
	case p.Changes == 0:
		return previewNothing
	}
	text := "The dry run would change " + shell.Count(p.Changes) + " of " + shell.Plural(hosts, "host") + "."
	switch {
	case v.cut || v.hosts < 2:
	case v.odd == 0:
		text += " All alike."
	default:
		text += " All alike but " + shell.Plural(v.odd, "host") + "."
	}
	return text
}

func changedText(kinds []string) string {
	return "Changed since it was held: " + strings.Join(kinds, ", ") + ". Earlier approvals no longer count. " +
		"You decide about what is shown here."
}

// proposed reports whether a language model wrote the request, or the one that it repeats.
func proposed(r *runs.Run) bool {
	return r.Origin.Source == runs.FromProposal || r.Labels[ai.ProposalLabel] == ai.ProposalValue
}

func asksText(r *runs.Run) string {
	if proposed(r) {
		return "asks to run what a language model proposed:"
	}
	if r.Spec.PlanDigest != "" {
		return "asks to apply a plan with"
	}
	return "asks to run"
}

// byText returns who asks for a run.
func byText(r *runs.Run) string {
	if proposed(r) {
		return r.Actor.Shown() + ", proposed by a language model"
	}
	return r.Actor.Shown()
}

func commitText(v *request) string {
	switch {
	case v.run.Commit == "" || v.approved == nil || v.approved.Commit == "":
		return ""
	case v.approved.Commit == v.run.Commit:
		return ", the same commit as in the last approved run"
	}
	return ", the last approved run had " + short(v.approved.Commit)
}

// shownCommits is how many commits of a log are shown.
const shownCommits = 20

// restText says what the list of commits leaves out.
func restText(l *catalog.CommitLog) string {
	var out []string
	if more := l.Total - min(len(l.Commits), shownCommits); more > 0 {
		out = append(out, "and "+shell.Plural(more, "more commit"))
	}
	if l.Missing > 0 {
		out = append(out, "without "+shell.Plural(l.Missing, "commit")+" that the last approved run had")
	}
	return strings.Join(out, ", ")
}

// short is the part of a digest or a commit that people compare.
func short(digest string) string { return digest[:min(len(digest), 12)] }

func approveButton(v *request) string {
	if n := len(v.hosts.names); n > 0 && !v.hosts.unknown {
		return "Approve for " + shell.Plural(n, "host")
	}
	return approveText
}

func approveTitle(v *request) string {
	if n := len(v.hosts.names); n > 0 && !v.hosts.unknown {
		return "Release " + shell.RunName(v.run) + " on " + shell.Plural(n, "host")
	}
	return "Release " + shell.RunName(v.run)
}

func reasonFor(v *request) string { return "Reason. " + v.run.Actor.Shown() + " reads it" }

func givenOf(h holdView) string {
	return holdName(h) + ": " + shell.Count(h.given) + " of " + shell.Plural(h.Needed, "approval") + ", by " + h.who
}

// holdName returns the name of a hold. One that the request asked for has none of its own.
func holdName(h holdView) string {
	if h.ID == "" && h.Name == runs.RequestedApproval {
		return requestedText
	}
	return h.Name
}

func holdText(h holdView) string {
	if h.Message == "" {
		return holdName(h)
	}
	return holdName(h) + ": " + h.Message
}

// placeText ends the sentence of a request.
func placeText(v *request) string {
	text := ""
	if v.hosts.unknown && len(v.hosts.names) > 0 {
		text = " or more"
	}
	if v.place != "" {
		text += " of " + v.place
	}
	return text + "."
}

// decidedText says how a request ended.
func decidedText(r *runs.Run) string {
	d := r.Decision
	switch {
	case r.Canceled != nil && d == nil:
		return r.Canceled.By.Shown() + " canceled it."
	case d == nil:
		return "It is not held."
	case d.Verdict == runs.Approved:
		return d.By.Shown() + " approved it" + because(d.Reason)
	}
	return d.By.Shown() + " rejected it" + because(d.Reason)
}

func because(reason string) string {
	if reason == "" {
		return "."
	}
	return ": " + reason
}
