package change

import (
	"context"
	_ "embed"
	"encoding/json"
	"slices"
	"time"

	"github.com/writ-automation/writ/modules/audit/internal/report/evidence"
	"github.com/writ-automation/writ/modules/audit/internal/report/paper"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
)

//go:embed change.html.tmpl
var text string

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
	html, err := paper.Render("change", text, v)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "the report of a change cannot be written")
	}
	return html, nil
}

// view is the data of the template.
type view struct {
	estate.ChangeDetail
	Made    time.Time
	Omitted int // runs that are not listed
	Proofs  []*evidence.Document
	JSON    []byte
}

// Ended says what became of the change.
func (v view) Ended() string {
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

// Bad reports whether a run of the change failed, which no later one repaired.
func (v view) Bad() bool { return v.Outcome == estate.ChangeFailed }

// Unnamed is how many touched hosts are not named.
func (v view) Unnamed() int { return v.Hosts - len(v.Touched) }

// Signed reports whether the report has a receipt.
func (v view) Signed() bool {
	return slices.ContainsFunc(v.Proofs, func(d *evidence.Document) bool { return len(d.Receipt) > 0 })
}

// Problems reports whether the trail and a record differ, or a receipt is missing.
func (v view) Problems() bool {
	return slices.ContainsFunc(v.Proofs, func(d *evidence.Document) bool { return len(d.Problems) > 0 })
}

// Count formats a number with its noun.
func (view) Count(n int, one, many string) string { return paper.Count(int64(n), one, many) }

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
