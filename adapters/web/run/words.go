package run

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

func escape(s string) string { return url.PathEscape(s) }

func query(s string) string { return url.QueryEscape(s) }

// shownWorker is the name of a worker, and the end of its id if it has none.
func shownWorker(name string) string {
	if name = execution.ShownName(name); ids.Valid(ids.Worker, name) {
		return "#" + shell.ShortID(name)
	}
	return name
}

// address returns the address of a view of a run with pairs of names and values in its query.
func address(r *runs.Run, view string, pairs ...string) string {
	q := url.Values{}
	path := "/ui/runs/" + r.ID
	switch view {
	case "diff", "compare", "evidence":
		path += "/" + view
	case "", "matrix":
	default:
		q.Set("view", view)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// self is the address from which the head is refreshed.
func self(h *head) string { return address(h.Run, h.View) }

func viewLink(h *head, id string) string { return address(h.Run, id) }

// viewName is the name of a view. What a script printed is its log.
func viewName(h *head, v view) string {
	if v.id == "matrix" && !h.Grid() {
		return "Log"
	}
	return v.name
}

// shown reports whether a run has a view.
func shown(h *head, id string) bool {
	switch id {
	case "table", "diff":
		return h.Grid() || h.Run.Kind == runs.Pipeline
	case "timeline":
		return h.Grid() || h.Run.Kind.Parent()
	case "plan":
		return h.Plan != nil
	}
	return true
}

// receiptPath is where the receipt of a run is; a child is in that of its parent.
func receiptPath(r *runs.Run) string {
	if r.ParentID != "" {
		return "/v1/runs/" + r.ParentID + "/receipt"
	}
	return "/v1/runs/" + r.ID + "/receipt"
}

func capital(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[n:]
}

func childName(c *runs.Run) string {
	if c.Kind == runs.Shard {
		return "shard " + shell.Count(c.ShardIndex+1)
	}
	return c.StepName
}

func childrenText(h *head) string {
	if h.Run.Kind == runs.Split {
		return "Shards"
	}
	return "Steps"
}

// barText says in words what the bar of a run shows.
func barText(r *runs.Run) string {
	if text := results(r); text != "" {
		return text
	}
	return "no host has a result"
}

// shares returns the parts of the bar of a run, the worst first.
func shares(counts runs.HostCounts) []shell.Share {
	return []shell.Share{{Hue: "fail", Size: counts[runs.HostFailed]},
		{Hue: "lost", Size: counts[runs.HostUnreachable] + counts[runs.HostIncomplete]},
		{Hue: "chg", Size: counts[runs.HostChanged] + counts[runs.HostRescued] + counts[runs.HostIgnored]},
		{Hue: "done", Size: counts[runs.HostOK]}, {Hue: "rest", Size: counts[runs.HostSkipped]}}
}

func whyTitle(r *runs.Run) string {
	if r.Status == runs.Succeeded {
		return "What went wrong on hosts"
	}
	return "Why it failed"
}

func groupText(g runs.FailureGroup) string {
	message := strings.Join(strings.Fields(g.Message), " ")
	if g.Task == "" {
		return message
	}
	return strings.TrimSuffix(g.Task+": "+message, ": ")
}

// groupLink leads to the hosts of a group of failures.
func groupLink(r *runs.Run, g runs.FailureGroup) string {
	return address(r, "table", "outcome", string(g.Outcome), "task", g.Task) + "#results"
}

func riskState(l runs.RiskLevel) shell.State {
	switch l {
	case runs.LowRisk:
		return shell.State{Glyph: "done", Word: "Low"}
	case runs.MediumRisk:
		return shell.State{Glyph: "chg", Word: "Medium"}
	case runs.HighRisk:
		return shell.State{Glyph: "risk", Word: "High"}
	}
	return shell.State{Glyph: "fail", Word: capital(string(l))}
}

func reasonGlyph(r *runs.Run, e runs.Reason) string {
	switch {
	case r.Status == runs.PendingApproval:
		return "hold"
	case e.Code == "no_executor" || e.Code == "executors_busy" || e.Code == "waiting_for_executor":
		return "queue"
	}
	return "wait"
}

// reasonLink leads to the object of a reason.
func reasonLink(e runs.Reason) (to, text string) {
	switch {
	case ids.Valid(ids.Run, e.Object):
		return "/ui/runs/" + e.Object, "Run"
	case ids.Valid(ids.Policy, e.Object):
		return "/ui/trust/policies/" + e.Object, "Policy"
	case e.Code == "window":
		return "/ui/trust/windows/" + e.Object, "Window"
	case reasonGlyph(&runs.Run{}, e) == "queue":
		return "/ui/queues", "Workers"
	}
	return "", ""
}
