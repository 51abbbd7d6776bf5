package run

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

// action is something that can be done with a run. It has either an address or the operation of its dialog.
type action struct {
	Name, Label string
	Href        string
	Operation   string
	// Text says in the dialog what the action does, and Submit is the label of its button.
	Text, Submit string
	Done         string
	Hue, Glyph   string
	// First is the action that the state suggests. Bad ends something. Stays leads back to the run, not to a new one.
	First, Bad, Stays bool
}

// actions returns what the viewer can do with the run, the one that its state suggests first.
func actions(ctx context.Context, h *head) []action {
	r := h.Run
	var out []action
	if r.Status == runs.PendingApproval && shell.Can(ctx, "run", "approve") {
		out = append(out, action{Name: "review", Label: reviewText, Href: "/ui/approvals/" + r.ID, First: true})
	}
	if !shell.Can(ctx, "run", "control") {
		return out
	}
	switch {
	case r.Status == runs.PendingApproval:
		out = append(out, action{Name: "preview", Label: previewText, Operation: "preview-run", Submit: previewText,
			Hue: "now", Glyph: "play", Done: "The dry run was made.",
			Text: "A dry run of exactly what is held is made. It changes nothing, and the approval page shows what it finds."})
	case r.Status.Terminal():
		out = again(h)
	}
	if r.Status == runs.Pending && r.Kind != runs.Pipeline && r.ParentID == "" {
		out = append(out, action{Name: "move", Label: moveText, Operation: "move-run", Submit: "Move", Hue: "idle",
			Glyph: "queue", Stays: true, Done: "The run was moved.",
			Text: "The run waits in the other queue. Policies and windows decide about it as about a new request."})
	}
	if h.Live() && !r.CancelRequested {
		text := "Nothing of it has run, and nothing of it will run."
		if r.Status == runs.Running {
			text = "Its executor ends the processes of the run. What they have done stays done."
		}
		out = append(out, action{Name: "cancel", Label: cancelText, Operation: "cancel-run", Submit: "Cancel this run",
			Hue: "fail", Glyph: "stop", Bad: true, Stays: true, Done: "The cancellation was requested.", Text: text})
	}
	return out
}

// withdrawn returns the operations that the state of the run no longer offers. A form of one that was refused shows its
// reason outside of a dialog.
func withdrawn(ctx context.Context, h *head) []string {
	out := []string{"cancel-run", "preview-run", "move-run", "retry-run", "relaunch-failed", "rerun-run"}
	for _, a := range actions(ctx, h) {
		out = slices.DeleteFunc(out, func(op string) bool { return op == a.Operation })
	}
	return out
}

// again returns the ways to repeat a run that has ended.
func again(h *head) []action {
	r := h.Run
	var out []action
	bad := r.Hosts[runs.HostFailed] + r.Hosts[runs.HostUnreachable]
	if r.Kind == runs.Split && h.Bad > 0 && shardsWithHosts(h.Children) {
		label := "Retry " + shell.Plural(h.Bad, "shard")
		out = append(out, action{Name: "retry", Label: label, Submit: label, Operation: "retry-run", Hue: "now",
			Glyph: "play", Done: "The retry was made.",
			Text: "A new run executes on the hosts of the shards that failed, with the same settings."})
	}
	if bad > 0 && r.Kind != runs.Pipeline && r.Spec.Tool == runs.Ansible {
		label := "Relaunch " + shell.Plural(bad, "host")
		out = append(out, action{Name: "relaunch", Label: label, Submit: label, Operation: "relaunch-failed", Hue: "now",
			Glyph: "play", Done: "The run was made.",
			Text: "A new run executes on the hosts that failed or could not be reached, with the same settings."})
	}
	out = append(out, action{Name: "rerun", Label: rerunText, Submit: "Run again", Operation: "rerun-run", Hue: "now",
		Glyph: "play", Done: "The run was made.",
		Text: "A new run is made with the same settings. Policies and windows decide about it like about each other " +
			"request."})
	out[0].First = true
	return out
}

// shardsWithHosts reports whether a failed shard has hosts that a retry can execute on.
func shardsWithHosts(children []*runs.Run) bool {
	for _, c := range children {
		if (c.Status == runs.Failed || c.Status == runs.Interrupted) && len(c.Spec.LimitHosts) > 0 {
			return true
		}
	}
	return false
}

func form(r *runs.Run, a action) shell.Form {
	page := "/ui/runs/" + r.ID
	next := "/ui/runs/{id}"
	if a.Stays {
		next = page
	}
	return shell.Form{Operation: a.Operation, Path: map[string]string{"id": r.ID}, Page: page + "?sheet=" + a.Name,
		Next: next, Done: a.Done}
}

// fact is one of the facts of a run in a line.
type fact struct {
	Name, Text, Href string
	Code             bool
}

// facts returns the facts of a run: who asked, from what, where and with what.
func facts(h *head) []fact {
	r := h.Run
	out := []fact{{Name: "Asked by", Text: r.Actor.Shown()}}
	add := func(name, text, href string, code bool) {
		if text != "" {
			out = append(out, fact{name, text, href, code})
		}
	}
	switch {
	case h.Template != "":
		add("From", h.Template, "/ui/launch/"+r.Spec.TemplateID, false)
	default:
		add("From", sourceText(r.Origin.Source), "", false)
	}
	if again := r.Origin.RerunOf + r.Origin.RetryOf; again != "" {
		add("Repeats", "#"+shell.ShortID(again), "/ui/runs/"+again, false)
	}
	if r.ParentID != "" {
		add("Part of", "#"+shell.ShortID(r.ParentID), "/ui/runs/"+r.ParentID, false)
	}
	switch {
	case h.Inventory != "":
		add("Inventory", h.Inventory, "/ui/inventories/"+r.Spec.InventoryID, false)
	default:
		add("Inventory", r.Spec.Inventory, "", false)
	}
	add("Limit", r.Spec.Limit, "", true)
	add("Commit", r.Commit[:min(len(r.Commit), shownCommit)], "", true)
	add("Queue", r.Spec.Queue, "/ui/queues", false)
	add("Worker", shownWorker(r.Worker), "", false)
	add("Change", r.Change, "/ui/changes/"+escape(r.Change), false)
	return out
}

// shownCommit is how many characters of a commit are shown.
const shownCommit = 7
