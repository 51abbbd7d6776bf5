package register

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/modules/audit/internal/report/paper"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	// MaxRows bounds the rows of a register. Further entries are only counted.
	MaxRows = 50_000
	// DefaultSpan is the length of the default period, which ends now.
	DefaultSpan = 90 * 24 * time.Hour
	// slack is how far the recording clock may have stepped back without losing an entry of the period.
	slack = 24 * time.Hour
)

// Params holds the dependencies of a Register.
type Params struct {
	Chain   audit.ChainReader
	Runs    runs.Reader
	Licence audit.Licence
	Clock   clock.Clock
	// Rows bounds a register if it is above zero and below MaxRows.
	Rows int
}

// Register makes change registers.
type Register struct{ p Params }

// New returns the maker of registers.
func New(p Params) *Register {
	if p.Rows <= 0 || p.Rows > MaxRows {
		p.Rows = MaxRows
	}
	return &Register{p: p}
}

// Register returns the changes from p.From on and before p.To. A zero To means now, and a zero From means DefaultSpan
// before To. A period that ends before it begins is an Invalid fault that names from; then, without the licence, the
// fault is the Unlicensed fault of Licence.Require, and nothing is read.
func (r *Register) Register(ctx context.Context, p audit.Period) ([]byte, error) {
	now := r.p.Clock.Now().UTC()
	if p.To.IsZero() {
		p.To = now
	}
	if p.From.IsZero() {
		p.From = p.To.Add(-DefaultSpan)
	}
	if !p.From.Before(p.To) {
		return nil, fault.BadField("from", "not before the end of the period")
	}
	if err := r.p.Licence.Require(ctx, audit.FeatureRegister); err != nil {
		return nil, err
	}
	b := newLedger(p, r.p.Rows)
	if err := r.collect(ctx, b); err != nil {
		return nil, fmt.Errorf("collect the changes of a period: %w", err)
	}
	if err := r.label(ctx, b); err != nil {
		return nil, fmt.Errorf("look up the runs of a period: %w", err)
	}
	html, err := paper.Render(ctx, "Change register", document(b.view(now)))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "the change register cannot be written")
	}
	return html, nil
}
