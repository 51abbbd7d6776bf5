package run

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/runs"
)

// maxEntries is how many entries of the trail the page lists.
const maxEntries = 50

// evidence is what is on record about a run.
type evidence struct {
	Head    *head
	Facts   []input
	Entries []audit.Line
	More    bool
	First   string // the receipt of the submission
}

// evidence shows what is on record about a run, and where the documents are. A document is a page of its own, since
// pages show no frames.
func (h *handlers) evidence(r *shell.Request) (*shell.Page, error) {
	top, err := h.head(r, "evidence")
	if err != nil {
		return nil, err
	}
	ctx := r.Context()
	id := top.Run.ID
	if top.Run.ParentID != "" {
		id = top.Run.ParentID
	}
	out := evidence{Head: top, Facts: proven(top.Run)}
	first, ok, err := h.Trail.ReceiptOf(ctx, id)
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	if ok {
		out.First = fmt.Sprintf("%d:%s", first.Seq, hex.EncodeToString(first.Hash[:]))
	}
	if r.May("audit", "read") {
		list, err := h.Trail.Page(ctx, audit.Filter{Object: "run/" + id, Limit: maxEntries})
		if err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
		out.Entries, out.More = list.Lines, list.HasMore
	}
	return page(top, evidenceView(out)), nil
}

// proven lists facts of the record that an auditor asks for.
func proven(r *runs.Run) []input {
	var out []input
	add := func(name, text string) {
		if text != "" {
			out = append(out, input{name, text})
		}
	}
	add("Run", r.ID)
	add("Asked by", r.Actor.Shown())
	if d := r.Decision; d != nil {
		add("Decision", d.Verdict+" by "+d.By.Shown()+colon(d.Reason))
	}
	if c := r.Canceled; c != nil {
		add("Canceled by", c.By.Shown())
	}
	add("Commit", r.Commit)
	add("Tool", r.Spec.Tool+" "+r.ToolVersion)
	add("Worker", shownWorker(r.Worker))
	if r.Isolation.Level != "" {
		add("Isolation", r.Isolation.Level+", "+r.Isolation.Profile)
	}
	add("Log", shell.Bytes(r.LogBytes))
	if r.LogOmitted > 0 {
		add("Left out of the log", shell.Bytes(r.LogOmitted)+", dropped from the middle at the cap of the log")
	}
	add("SHA-256 of the log", r.LogSHA256)
	add("Events", shell.Count(r.EventCount))
	for i, k := range r.AcceptedHostKeys {
		if i == maxNames {
			add("Further host keys", shell.Count(len(r.AcceptedHostKeys)-maxNames))
			break
		}
		add("Accepted key of "+k.Host, k.Type+" "+k.Fingerprint)
	}
	return out
}

func choiceText(ctx context.Context, r *runs.Run) string {
	return "#" + shell.ShortID(r.ID) + ", " + shell.StateOf(r.Status, r.Spec.DryRun).Word + ", " +
		shell.When(ctx, r.CreatedAt)
}

func evidenceSentence(e evidence) string {
	switch s := e.Head.Seal; {
	case !s.Known:
		return unsealedText
	case !s.Sealed:
		return "The run has not ended. Its newest entry of the trail is " + shell.Count(s.Entry) + "."
	default:
		return "The run is sealed with entry " + shell.Count(s.Entry) +
			" of the trail. The server states this; nobody has checked it on this page."
	}
}

func verifyCommand(id string) string {
	file := id + ".receipt.json"
	return "writ api GET /v1/runs/" + id + "/receipt > " + file + "\nwrit audit verify --pin install.pin " + file
}

func shortHash(l audit.Line) string { return hex.EncodeToString(l.Hash[:])[:12] }
