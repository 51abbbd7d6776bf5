package runview

import (
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	matrixLabel  = "Results by host and task"
	gridLabel    = "Hosts by tasks. Arrow keys move, n goes to the next failure, Enter opens the details."
	gridHelp     = "The same results are in the Table view."
	gridHint     = "Arrow keys move, n goes to the next failure, Enter opens the details"
	gridNoScript = "The matrix needs script."
	tableText    = "Show the table"
	hostsLabel   = "Filter hosts"
	orderLabel   = "Order of hosts"
	outcomeLabel = "Hosts by outcome"
	previousText = "Previous failure"
	nextText     = "Next failure"
	detailsLabel = "Details"
	closeText    = "Close"

	logTitle     = "Log"
	outputLabel  = "Output"
	findLabel    = "Find in log"
	previousHit  = "Previous match"
	nextHit      = "Next match"
	caseLabel    = "Match case"
	regexLabel   = "Regular expression"
	followText   = "Follow"
	followEnd    = "Follow, End"
	wrapText     = "Wrap"
	foldText     = "Fold"
	linesLabel   = "Lines that are shown"
	copyText     = "Copy link"
	rawText      = "Raw"
	downloadText = "Download"
	logErrorText = "The log cannot be read. What is shown may be incomplete."
	emptyLog     = "Nothing was printed."
	dividerLabel = "Divide the page between the results and the log"
	cutReason    = "the log reached its limit"
)

// choice is a choice of a list.
type choice struct{ value, text string }

func orders() []choice {
	return []choice{{"worst", "Worst first"}, {"listed", "As listed"}, {"name", "By name"}, {"duration", "By duration"},
		{"alike", "Alike folded"}}
}

func filters() []choice {
	return []choice{{"", "All lines"}, {"failed", "Only failed"}, {"changed", "Only changed"}}
}

// marks are the shapes of the cells, with their words and hues.
type legendMark struct{ hue, shape, word string }

func legend(live bool) []legendMark {
	list := []legendMark{{"done", "ok", "ok"}, {"chg", "changed", "changed"}, {"idle", "skipped", "skipped"},
		{"fail", "failed", "failed"}, {"lost", "unreachable", "unreachable"}, {"fail", "rescued", "rescued"},
		{"fail", "ignored", "ignored"}}
	if live {
		list = append(list, legendMark{"now", "running", "running"})
	}
	return list
}

// glyphs are those that the script of the matrix copies.
func glyphs() []string { return []string{"done", "chg", "fail", "lost", "now", "skip"} }

func api(r *runs.Run, path string) string { return "/v1/runs/" + r.ID + path }

// sizeText says how long the log is.
func sizeText(v LogView) string {
	switch {
	case v.Lines > 0:
		return shell.Plural(v.Lines, "line")
	case v.Run.LogBytes > 0:
		return shell.Bytes(v.Run.LogBytes)
	}
	return ""
}

// partText says that the page shows the end of the log.
func partText(v LogView) string {
	return "The last " + shell.Bytes(int64(len(v.Tail))) + " of " + shell.Bytes(v.Run.LogBytes) + "."
}

// cutText says that the log is not whole.
func cutText(r *runs.Run) string {
	return shell.Plural(r.LogOmitted, "byte") + " of the log are missing: " + cutReason + "."
}
