package launch

import (
	"context"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/policy"
)

// The texts of the list.
const (
	templatesTab  = "Templates"
	listTitle     = "Launch"
	searchLabel   = "Search templates"
	adhocLink     = "Run one command or playbook"
	newTemplate   = "New template"
	launchText    = "Launch"
	pinText       = "Pin"
	unpinText     = "Unpin"
	nameHead      = "Template"
	outcomeHead   = "Last outcomes"
	lastHead      = "Last run"
	nextHead      = "Next fire"
	emptyTitle    = "No template yet."
	emptyText     = "A template is a saved run: what it executes, where, and what a launch may choose."
	filteredTitle = "No template fits the search."
	clearText     = "Clear the search"
	neverRan      = "never"
	pinnedWord    = "Pinned"
)

// The texts of the form.
const (
	editText        = "Edit"
	dryRunText      = "Dry run first"
	noDryRun        = "The template does not let a launch choose a dry run."
	onlyDryRun      = "The template makes dry runs alone."
	hostsButton     = "Show hosts"
	inputsTitle     = "Inputs"
	whatTitle       = "What it runs"
	runsTitle       = "Its runs"
	overridesTitle  = "What this launch changes"
	noInputs        = "It asks for nothing."
	noAnswer        = "no answer"
	chooseText      = "choose one"
	limitLabel      = "Limit"
	limitHelp       = "A pattern of hosts or groups: web, web:!web1. Empty is every host of the inventory."
	inventoryLabel  = "Inventory"
	tagsLabel       = "Tags"
	skipTagsLabel   = "Tags to skip"
	varsLabel       = "Variables"
	varsHelp        = `JSON, merged over those of the template: {"name": "value"}`
	forksLabel      = "Forks"
	forksHelp       = "Hosts at a time, a whole number. Empty is that of the template."
	verbosityLabel  = "Verbosity"
	diffLabel       = "Show differences of files"
	labelsLabel     = "Labels"
	labelsHelp      = `JSON, merged over those of the template: {"team": "shop"}`
	changeLabel     = "Change"
	changeHelp      = "Runs with the same label form one change."
	credentialLabel = "Credentials of this launch"
	countLabel      = "Type the number of hosts to confirm"
	heldText        = "It will be held: the template asks for approval."
	unresolvedText  = "Its hosts cannot be told."
	nothingMatched  = "The limit selects no host: the run would touch nothing."
	refreshedText   = "The inventory is refreshed before the run: policies take the number of its hosts as unknown."
	executorText    = "Runs on the executor, not on hosts."
	queryText       = "Runs on the hosts that its query selects when it is launched."
	noInventory     = "Runs on the hosts of the project's own inventory."
	emptyMeans      = "Empty means those of the template: "
	emptyMeansNone  = "Separated by commas. The template has none."
	fromText        = "Filled in from an earlier run."
	noRunsText      = "It has not run yet."
)

// The texts of a run without a template.
const (
	adhocTitle      = "Run one command or playbook"
	adhocIntro      = "It runs once, now. What runs again is better saved as a template."
	runNameLabel    = "Name"
	runNameHelp     = "Shown in the list of runs. Empty is the playbook or the first line."
	toolLabel       = "Tool"
	playbookLabel   = "Playbook"
	playbookHelp    = "Its path in the project, or on the executor."
	commandLabel    = "Script"
	commandHelp     = "For bash, python, powershell and go: what is executed on the executor."
	projectLabel    = "Project"
	noProject       = "none: files of the executor"
	noInventoryHere = "none"
	queueLabel      = "Queue"
	queueHelp       = "Empty is that of the inventory, or the default one."
	timeoutLabel    = "Timeout in seconds"
	timeoutHelp     = "A whole number. Empty is the server's default."
	credsLabel      = "Credentials"
	adhocVarsHelp   = `JSON: {"name": "value"}. Variables are not for secrets.`
	adhocTagsHelp   = "Separated by commas. For ansible."
	redactedText    = "Secrets of the earlier run are not shown. Enter them again where it says " + `"[redacted]".`
	runNowText      = "Run"
	moreSettings    = "More settings"
)

func listSentence(v listView) string {
	switch {
	case v.all == 0:
		return ""
	case v.query != "":
		return shell.Count(v.total) + " of " + shell.Plural(v.all, "template") + " fit the search."
	}
	return shell.Plural(v.all, "template") + " can be launched. Pinned ones come first, then the most used."
}

func pagerText(v listView) string {
	return shell.Count(v.from+1) + " to " + shell.Count(v.from+len(v.rows)) + " of " + shell.Count(v.total)
}

// runsOnText is the sentence about the hosts of a launch: "Runs on 214 hosts: web 120, api 64."
func runsOnText(n int, groups []shell.GroupCount) string {
	text := "Runs on " + shell.Plural(n, "host")
	var parts []string
	for _, g := range groups {
		parts = append(parts, g.Name+" "+shell.Count(g.Hosts))
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text + "."
}

func confirmText(n int) string {
	return "It runs on " + shell.Plural(n, "host") + " without a limit. Type " + strconv.Itoa(n) + " to confirm."
}

// verdictText says what the policies and windows will do with a launch.
func verdictText(ctx context.Context, v policy.Verdict) (out []outlook) {
	if v.Denied != nil {
		return []outlook{{"deny", "It will be denied by " + v.Denied.Name + ". " + v.Denied.Message}}
	}
	for _, hold := range v.Holds {
		out = append(out, outlook{"hold", "It will be held by " + hold.Name + "."})
	}
	if w := v.Timing.Closed; w != nil {
		verb, until := "It will wait for the window ", ""
		if w.Outside == policy.OutsideDeny {
			verb = "It will be refused by the window "
		} else if !v.Timing.Opens.IsZero() {
			until = " until " + shell.Instant(ctx, v.Timing.Opens)
		}
		out = append(out, outlook{"clock", verb + w.Name + until + "."})
	}
	return out
}

func heldBefore(policy string) string {
	return "Its last run was held by " + policy + ". This one may be held too."
}

func stepsText(n int) string {
	return "A workflow of " + shell.Plural(n, "step") + ". Each step has its own hosts."
}

func pathText(path string) string { return "Runs on the hosts of " + path + " on the executor." }

// whatSentence opens the page of a template.
func whatSentence(v *templateView) string {
	text := "Runs " + what(&v.TemplateSpec)
	if v.Workflow() {
		text = "Runs a workflow of " + what(&v.TemplateSpec)
	}
	if v.project != "" {
		text += " of " + v.project
	}
	if v.place != "" {
		text += " on " + v.place
	}
	return text + "."
}

// outcomesText says the outcomes of a row in words, the oldest first.
func outcomesText(x row) string {
	var out []string
	for i := len(x.last) - 1; i >= 0; i-- {
		out = append(out, shell.StateOf(x.last[i].Status, x.last[i].Spec.DryRun).Word)
	}
	return strings.Join(out, ", ")
}
