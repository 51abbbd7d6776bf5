package runs

import (
	"strconv"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

// The texts of the list, in the order in which they are seen.
const (
	title        = "Runs"
	viewsText    = "Saved views"
	saveViewText = "Save view"
	withNobody   = "nobody"
	shareLabel   = "Share with"
	shareHelp    = "Every member of the team sees the view, and may change it."
	exportText   = "Export"
	launchText   = "Launch"
	columnsText  = "Columns"
	searchLabel  = "Search runs"
	searchHelp   = "Words, or status: tool: source: actor: host: label: change: template: queue:"
	statesText   = "Filter by state"
	captionText  = "Runs, newest first"
	stayText     = "Older pages stay where they are while new runs arrive."
	emptyTitle   = "No run yet"
	emptyText    = "A run is one execution of a playbook, a command or a workflow. It appears when it is asked for."
	noFitTitle   = "No run fits"
	clearText    = "Clear the search"
	keptText     = "The list shows the last search that was valid."
	cancelAll    = "Cancel selected"
)

// allView and the others are the views that everybody has.
const (
	allView    = "All"
	mineView   = "Mine"
	failedView = "Failed this week"
)

func boolText(b bool) string { return strconv.FormatBool(b) }

func started(r *runs.Run) time.Time {
	if r.StartedAt.IsZero() {
		return r.CreatedAt
	}
	return r.StartedAt
}

// foldText names the children of a parent.
func foldText(r *runs.Run) string {
	switch {
	case r.Kind == runs.Split && r.ShardCount > 0:
		return shell.Plural(r.ShardCount, "shard")
	case r.Kind == runs.Split:
		return "Shards"
	}
	return "Steps"
}

// totalText says how many runs of the list are shown.
func totalText(shown, total int, capped bool) string {
	of := shell.Count(total)
	if capped {
		of = "more than " + of
	}
	return shell.Count(shown) + " of " + of + ". " + stayText
}

// headText says in a sentence how the list stands.
func headText(c counts) string {
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{c.running, " running"}, {c.pending, " pending"}, {c.held, " held"}} {
		if p.n > 0 {
			parts = append(parts, shell.Count(p.n)+p.word)
		}
	}
	if len(parts) == 0 {
		return "Nothing runs or waits now."
	}
	return strings.Join(parts, ", ") + "."
}

// viewText says what a saved view holds.
func viewText(v *listView) string {
	if v.Echo == "" {
		return "The view has all runs."
	}
	return v.Echo
}

// storedView returns the view of the viewer or of a team that the page shows, the zero view for none.
func storedView(list []view) view {
	for _, v := range list {
		if v.stored && v.current {
			return v
		}
	}
	return view{}
}

// shareChoices are with whom a new view can be shared.
func shareChoices(teams []shell.Choice) []shell.Choice {
	return append([]shell.Choice{{Label: withNobody}}, teams...)
}

func sharedHelp(team string) string {
	return "The team " + team + " shares this view. A change is for all of its members."
}

// sharedBy says which team shares a view.
func sharedBy(team string) string { return "shared by " + team }

// hiddenClasses are the classes of a table without some columns.
func hiddenClasses(hidden []string) string {
	out := ""
	for _, c := range columns() {
		for _, id := range hidden {
			if c.ID == id {
				out += " no-" + id
			}
		}
	}
	return out
}

const (
	cancelHelp   = "A run that waits ends at once. The processes of a run that executes are asked to end."
	cancelAsked  = "Its cancellation is requested."
	commandsText = "The same as commands"
)

func cancelTitle(n int) string  { return "Cancel " + shell.Plural(n, "run") + "?" }
func cancelButton(n int) string { return "Cancel " + shell.Plural(n, "run") }

func canceledText(n int) string {
	return "The cancellation of " + shell.Plural(n, "run") + " is requested."
}

func cancelMixed(done, refused int) string {
	return shell.Plural(done, "cancellation is", "cancellations are") + " requested, " + shell.Count(refused) + " refused"
}

// keyHint says what a key of the search finds.
func keyHint(key string) string {
	switch key {
	case "status":
		return "a state, or several with commas"
	case "tool":
		return "what executes it, such as ansible"
	case "source":
		return "where it comes from"
	case "actor":
		return "who asked for it"
	case "host":
		return "a host that it touched"
	case "label":
		return "key=value"
	case "change":
		return "the name of a change"
	case "template":
		return "a template by its name or id"
	case "queue":
		return "the queue that it waits in"
	}
	return ""
}

// commandsOf are the requests as commands: one of writ, and those of curl.
func commandsOf(list []row) string {
	ids := ""
	for _, x := range list {
		ids += " " + x.Run.ID
	}
	return "writ cancel -y" + ids + "\n\nfor id in" + ids +
		"; do curl -X POST -H \"Authorization: Bearer $WRIT_TOKEN\" \\\n" +
		"  \"$WRIT_SERVER/v1/runs/$id/cancel\"; done"
}
