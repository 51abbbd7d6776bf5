package change

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/writ-automation/writ/modules/audit/internal/report/evidence"
	"github.com/writ-automation/writ/modules/audit/internal/report/paper"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
)

// MaxRuns bounds the runs of a report. More are only counted.
const MaxRuns = 200

// Params holds the dependencies of Reports.
type Params struct {
	Changes  estate.Changes
	Evidence *evidence.Evidence
	Clock    clock.Clock
}

// Reports makes reports of changes.
type Reports struct{ p Params }

// New returns the maker of reports.
func New(p Params) *Reports { return &Reports{p} }

// Change returns the report of a change as HTML. Errors: estate.ChangeNotFound.
func (r *Reports) Change(ctx context.Context, name string) ([]byte, error) {
	c, err := r.p.Changes.Get(ctx, name, page.Window{Limit: MaxRuns})
	if err != nil {
		return nil, err
	}
	v := view{ChangeDetail: c, Made: r.p.Clock.Now().UTC(), Omitted: max(0, c.Runs-len(c.Members))}
	for _, m := range c.Members {
		d, err := r.p.Evidence.Proof(ctx, m)
		if err != nil {
			return nil, err
		}
		v.Proofs = append(v.Proofs, d)
	}
	if v.JSON, err = v.receipts(); err != nil {
		return nil, fault.Wrap(fault.Internal, err, "the report of a change cannot be written")
	}
	html, err := paper.Render(ctx, "Change "+v.Change.Change, document(v))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "the report of a change cannot be written")
	}
	return html, nil
}

// view is the data of the document.
type view struct {
	estate.ChangeDetail
	Made    time.Time
	Omitted int // runs that are not listed
	Proofs  []*evidence.Document
	JSON    []byte
}

// ended says what became of the change.
func (v view) ended() string {
	switch v.Outcome {
	case estate.ChangeFailed:
		return "failed"
	case estate.ChangeInProgress:
		return "is in progress"
	case estate.ChangePartial:
		return "was done in part"
	default:
		return "succeeded"
	}
}

// failed reports whether a run of the change failed, which no later one repaired.
func (v view) failed() bool { return v.Outcome == estate.ChangeFailed }

// unnamed is how many touched hosts are not named.
func (v view) unnamed() int { return v.Hosts - len(v.Touched) }

// proven reports whether the report has a receipt.
func (v view) proven() bool {
	return slices.ContainsFunc(v.Proofs, func(d *evidence.Document) bool { return len(d.Receipt) > 0 })
}

// suspect reports whether the trail and a record differ, or a receipt is missing.
func (v view) suspect() bool {
	return slices.ContainsFunc(v.Proofs, func(d *evidence.Document) bool { return len(d.Problems) > 0 })
}

func (v view) summary() string {
	return fmt.Sprintf("The change %s: %s from %s to %s, on %s.", v.ended(), count(v.Runs, "run", "runs"),
		paper.When(v.FirstAt), paper.When(v.LastAt), count(v.Hosts, "host", "hosts"))
}

func count(n int, one, many string) string { return paper.Count(int64(n), one, many) }

// notes say what the report does not tell.
func (v view) notes() (out []string) {
	if v.Withheld > 0 {
		out = append(out, count(v.Withheld, "run", "runs")+" of this change may not be read by whoever made this report. "+
			"All else here is about the others.")
	}
	if v.Partial {
		out = append(out, "The change has older runs that were not read. The outcome, the time, the people and the hosts "+
			"are those of the "+count(v.Runs, "newest run", "newest runs")+".")
	}
	if v.Omitted > 0 {
		out = append(out, count(v.Omitted, "run more is", "runs more are")+" not listed here.")
	}
	return out
}

// list returns texts for cells; without any, one that says so.
func list(of []string) []string {
	out := make([]string, 0, max(1, len(of)))
	for _, s := range of {
		out = append(out, paper.Cell(s))
	}
	if len(out) == 0 {
		out = append(out, "None.")
	}
	return out
}

// signed says what of the report can be verified.
func (v view) signed() string {
	if v.proven() {
		return evidence.Signed("receipts")
	}
	return evidence.Signed("")
}

// receipts are the signed receipts of the runs.
func (v view) receipts() ([]byte, error) {
	type signed struct {
		RunID   string          `json:"run_id"`
		KeyID   string          `json:"key_id"`
		Receipt json.RawMessage `json:"receipt"`
	}
	doc := struct {
		Change      string    `json:"change"`
		GeneratedAt time.Time `json:"generated_at"`
		Receipts    []signed  `json:"receipts"`
	}{v.Change.Change, v.Made, []signed{}}
	for _, d := range v.Proofs {
		if len(d.Receipt) > 0 {
			doc.Receipts = append(doc.Receipts, signed{d.Run.ID, d.KeyID, d.Receipt})
		}
	}
	return paper.JSON(doc)
}
