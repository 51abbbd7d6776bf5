package register

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// row is a run or one change of the configuration.
type row struct {
	At       time.Time
	Who      string
	Action   string
	Object   string
	Name     string
	Outcome  string
	Bad      bool // highlighted
	Decision []string
	Change   string
	Receipts []string
	More     int // receipts that are not listed

	run      string // id, empty if the row is not a run
	dry      bool
	labelled bool
}

// maxReceipts bounds the receipts in one row.
const maxReceipts = 20

// ledger collects the rows of a period.
type ledger struct {
	period  audit.Period
	most    int
	rows    []*row
	runs    map[string]*row
	cut     int64 // entries after the last row
	cutAt   time.Time
	changed int64 // entries that were changed after they were recorded
}

func newLedger(p audit.Period, most int) *ledger {
	return &ledger{period: p, most: most, runs: make(map[string]*row)}
}

// quiet reports whether an entry does not belong into a register of changes.
func quiet(a audit.Action) bool {
	return slices.Contains([]audit.Action{audit.AuthLogin, audit.AuthLogout, audit.AuditBeat, audit.AuditAnchor}, a)
}

// add adds an entry: one row for each run, and one for every other change.
func (b *ledger) add(l *audit.Line) {
	if quiet(l.Action) {
		return
	}
	run := l.Run
	if run == "" && l.Object.Kind == "run" {
		run = l.Object.ID
	}
	if w := b.runs[run]; w != nil {
		w.follow(l)
		return
	}
	w := b.put(l.At)
	if w == nil {
		return
	}
	w.Who, w.Action, w.Object, w.Name = actorName(l.Actor), string(l.Action), l.Object.Kind, l.Object.Name
	if l.Object.ID != "" {
		w.Object += "/" + l.Object.ID
	}
	if run != "" {
		w.Object, w.run, b.runs[run] = "run/"+run, run, w
		w.follow(l)
		return
	}
	w.Outcome, w.Bad = string(l.Outcome), l.Outcome != audit.Applied
	w.addReceipt(l)
}

// altered adds an entry that was changed after it was recorded. It uses only the columns of the store.
func (b *ledger) altered(s *audit.Stored) {
	b.changed++
	at, ok := clockOf(s)
	if !ok {
		at = b.period.From
	}
	if w := b.put(at); w != nil {
		w.Action, w.Outcome, w.Bad = "changed after recording", "see audit verify", true
		w.Receipts = []string{audit.Receipt{Seq: s.Seq, Hash: s.Hash}.String()}
	}
}

// asks reports whether an action requests a run.
func asks(a audit.Action) bool {
	return slices.Contains([]audit.Action{audit.RunSubmit, audit.RunRetry, audit.RunRelaunch, audit.RunRerun,
		audit.RunReconcile, audit.RunPlan}, a)
}

// put adds a row, or returns nil without room: the end of the period is cut, so that another register can continue
// there.
func (b *ledger) put(at time.Time) *row {
	if len(b.rows) >= b.most {
		if b.cut == 0 {
			b.cutAt = at
		}
		b.cut++
		return nil
	}
	w := &row{At: at.UTC()}
	b.rows = append(b.rows, w)
	return w
}

// actorName returns the display name of an actor.
func actorName(a actor.Actor) string {
	if a.Type == actor.Worker {
		a.Name = execution.ShownName(a.Name)
	}
	if a.Name != "" && a.ID != "" {
		return a.Name + " (" + a.ID + ")"
	}
	return cmp.Or(a.Name, a.ID, string(a.Type))
}

// addReceipt lists an entry's receipt.
func (w *row) addReceipt(l *audit.Line) {
	if len(w.Receipts) == maxReceipts {
		w.More++
		return
	}
	w.Receipts = append(w.Receipts, audit.Receipt{Seq: l.Seq, Hash: l.Hash}.String())
}

// follow adds one more entry of a run to its row.
func (w *row) follow(l *audit.Line) {
	w.addReceipt(l)
	own := l.Object.Kind == "run" && l.Object.ID == w.run
	if l.Outcome != audit.Applied {
		w.decide(l, string(l.Action)+" "+string(l.Outcome))
		if w.Outcome == "" {
			w.Outcome, w.Bad = string(l.Outcome), true
		}
		return
	}
	switch l.Action {
	case audit.RunHold:
		w.decide(l, "held")
	case audit.RunApprove:
		w.decide(l, "approved")
	case audit.RunReject:
		w.decide(l, "rejected")
	case audit.RunCancel:
		w.decide(l, "canceled")
	case audit.RunFinal:
		if own {
			w.ended(l.Details)
		}
	default:
		if own && asks(l.Action) {
			w.submitted(l.Details)
		}
	}
}

// decide adds a decision: who, what and why.
func (w *row) decide(l *audit.Line, what string) {
	if len(w.Decision) >= maxReceipts {
		return
	}
	logged := what + " by " + actorName(l.Actor)
	if l.Text != "" {
		logged += ": " + l.Text
	}
	w.Decision = append(w.Decision, logged)
}

func (w *row) submitted(details json.RawMessage) {
	var doc struct {
		Change string `json:"change"`
		DryRun bool   `json:"dry_run"`
	}
	if len(details) > 0 && json.Unmarshal(details, &doc) == nil {
		w.Change, w.dry = cmp.Or(w.Change, doc.Change), w.dry || doc.DryRun
	}
}

func (w *row) ended(details json.RawMessage) {
	var doc struct {
		Status runs.Status `json:"status"`
	}
	if len(details) > 0 && json.Unmarshal(details, &doc) == nil && doc.Status != "" {
		w.Outcome, w.Bad = string(doc.Status), doc.Status != runs.Succeeded
	}
}

// label adds the data of the run's record. The result comes from the trail if the trail has it.
func (w *row) label(r *runs.Run) {
	w.labelled = true
	w.Change, w.dry = cmp.Or(w.Change, r.Change), w.dry || r.Spec.DryRun
	w.Name = cmp.Or(w.Name, r.Name)
	if !asks(audit.Action(w.Action)) {
		w.Who = actorName(r.Actor) // the run was submitted before the period
	}
	if w.Outcome == "" {
		w.Outcome = string(r.Status)
		w.Bad = r.Status.Terminal() && r.Status != runs.Succeeded
	}
}

// decisions returns the contents of a cell.
func (w *row) decisions() string { return strings.Join(w.Decision, "\n") }
