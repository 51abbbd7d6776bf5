package evidence

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/modules/audit/internal/record"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/runs"
)

// entries lists the run's entries in the trail and compares the record with them.
func (e *Evidence) entries(ctx context.Context, r *runs.Run, d *Document) error {
	stored, err := e.p.Chain.OfRun(ctx, r.ID, MaxEntries+1)
	if err != nil {
		return fmt.Errorf("the entries of run %s: %w", r.ID, err)
	}
	d.ReceiptsOmitted = len(stored) > MaxEntries
	stored, _ = first(stored, MaxEntries)
	for i := range stored {
		d.last = stored[i].Seq
		line, err := record.Line(&stored[i])
		if err != nil || line.Hash != stored[i].Hash || line.Seq != stored[i].Seq {
			name := audit.Receipt{Seq: stored[i].Seq, Hash: stored[i].Hash}.String()
			d.Receipts = append(d.Receipts, Entry{Receipt: name})
			d.problem("entry_altered", "The entry "+name+" of the audit trail was changed after recording.")
			continue
		}
		d.add(&line)
	}
	d.withoutEntries(r)
	if len(stored) == 0 {
		d.problem("no_entries", "The audit trail has no entry of this run.")
	}
	return nil
}

// add adds one entry.
func (d *Document) add(line *audit.Line) {
	entry := Entry{
		Receipt: audit.Receipt{Seq: line.Seq, Hash: line.Hash}.String(), At: line.At, Action: line.Action,
		By:      who(line.Actor),
		Outcome: line.Outcome, DetailsHash: line.DetailsHash,
	}
	if line.Object.Kind != "" {
		entry.Object = line.Object.Kind + "/" + line.Object.ID
	}
	d.Receipts = append(d.Receipts, entry)
	if line.Outcome != audit.Applied {
		return
	}
	own := line.Object.Kind == "run" && line.Object.ID == d.Run.ID
	switch line.Action {
	case audit.RunSubmit, audit.RunRetry, audit.RunRelaunch, audit.RunRerun, audit.RunReconcile, audit.RunPlan:
		if own || d.InputsDigest == "" {
			d.submitted(line)
		}
	case audit.RunHold:
		h := Hold{At: line.At, Receipt: entry.Receipt, Name: line.Text}
		if p := heldBy(line.Details); p.Name != "" {
			h.ID, h.Name = p.ID, p.Name
		}
		d.Holds = append(d.Holds, h)
	case audit.RunApprove, audit.RunReject, audit.RunCancel:
		verdict := map[audit.Action]string{audit.RunApprove: runs.Approved, audit.RunReject: runs.RejectedByRule,
			audit.RunCancel: "canceled"}[line.Action]
		d.Decisions = append(d.Decisions, Decision{At: line.At, By: entry.By, Verdict: verdict, Reason: line.Text,
			Receipt: entry.Receipt})
	case audit.RunFinal:
		if own {
			d.ended(line)
		}
	}
}

// heldBy reads the policy of a hold from its details: the member held_by, or the details themselves.
func heldBy(details json.RawMessage) runs.Hold {
	var doc struct {
		HeldBy *runs.Hold `json:"held_by"`
		ID     string     `json:"id"`
		Name   string     `json:"name"`
	}
	if len(details) == 0 || json.Unmarshal(details, &doc) != nil {
		return runs.Hold{}
	}
	if doc.HeldBy != nil {
		return *doc.HeldBy
	}
	return runs.Hold{ID: doc.ID, Name: doc.Name}
}

// submitted reads the digest of the request, and its risk if there is one.
func (d *Document) submitted(line *audit.Line) {
	d.InputsDigest = line.DetailsHash
	var doc struct {
		Risk         json.RawMessage `json:"risk"`
		InputsDigest string          `json:"inputs_digest"`
	}
	if len(line.Details) == 0 || json.Unmarshal(line.Details, &doc) != nil {
		return
	}
	if doc.InputsDigest != "" {
		d.InputsDigest = doc.InputsDigest
	}
	if bytes.HasPrefix(doc.Risk, []byte("{")) {
		d.Risk = doc.Risk
	}
}

// digest holds the shown and compared members of the run digest document.
type digest struct {
	Status string `json:"status"`
	Commit string `json:"commit"`
	Log    struct {
		SHA256 string `json:"sha256"`
	} `json:"log"`
	Events struct {
		Root string `json:"root"`
	} `json:"events"`
}

// ended reads the digests of the run's results, and reports a record that changed since.
func (d *Document) ended(line *audit.Line) {
	var doc digest
	if len(line.Details) == 0 || json.Unmarshal(line.Details, &doc) != nil {
		d.problem("digest_unknown", "The digest of the results of the run was erased or cannot be read.")
		return
	}
	if doc.Log.SHA256 != "" {
		d.LogDigest = "sha256:" + strings.TrimPrefix(doc.Log.SHA256, "sha256:")
	}
	if root, err := base64.StdEncoding.DecodeString(doc.Events.Root); err == nil && len(root) == 32 {
		d.EventsDigest = doc.Events.Root
	}
	if doc.Status != "" && doc.Status != string(d.Run.Status) {
		d.problem("status_differs", "The audit trail says that the run ended as "+doc.Status+"; its record says "+
			string(d.Run.Status)+".")
	}
	if doc.Commit != "" && doc.Commit != d.Commit {
		d.problem("commit_differs", "The audit trail says that the run used the commit "+doc.Commit+"; its record says "+
			d.Commit+".")
	}
}

// withoutEntries fills gaps of the trail from the record, for example for runs from before the trail.
func (d *Document) withoutEntries(r *runs.Run) {
	if len(d.Holds) == 0 && r.Approvals != nil {
		for _, h := range r.Approvals.Holds {
			d.Holds = append(d.Holds, Hold{ID: h.ID, Name: h.Name})
		}
	}
	if len(d.Decisions) == 0 && r.Decision != nil {
		d.Decisions = append(d.Decisions, Decision{At: r.Decision.At, By: who(r.Decision.By), Verdict: r.Decision.Verdict,
			Reason: r.Decision.Reason})
	}
	recorded := ""
	if r.LogSHA256 != "" {
		recorded = "sha256:" + r.LogSHA256
	}
	switch {
	case d.LogDigest == "":
		d.LogDigest = recorded
	case recorded != "" && recorded != d.LogDigest:
		d.problem("log_differs", "The audit trail has another digest of the log than the record, which has "+recorded+".")
	}
}

// anchors lists the newest head of each kind.
func (e *Evidence) anchors(ctx context.Context, _ *runs.Run, d *Document) error {
	for _, kind := range []string{
		audit.KindCheckpoint, audit.KindHeadFile, audit.KindWorker, audit.KindReceipt, audit.KindTimestamp, audit.KindWitness,
		audit.KindPublish,
	} {
		newest, err := e.p.Anchors.NewestAnchors(ctx, kind, 1)
		if err != nil {
			return fmt.Errorf("the newest anchor of the kind %s: %w", kind, err)
		}
		for i := range newest {
			a := &newest[i]
			if kind == audit.KindWorker && len(a.Evidence) > 0 {
				continue // the chain did not satisfy it
			}
			d.Anchors = append(d.Anchors, Anchor{
				ID: a.ID, Kind: a.Kind, Size: a.Size, Root: base64.StdEncoding.EncodeToString(a.Root[:]), MadeAt: a.MadeAt.UTC(),
				Source: a.Source,
				Covers: len(d.Receipts) > 0 && !d.ReceiptsOmitted && d.last <= a.Size,
			})
		}
	}
	return nil
}
