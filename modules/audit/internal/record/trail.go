package record

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/page"
)

// Trail reads the chain for people.
type Trail struct {
	chain  audit.ChainStore
	reader audit.ChainReader
}

var _ audit.Trail = (*Trail)(nil)

// NewTrail returns the trail of a chain.
func NewTrail(chain audit.ChainStore, reader audit.ChainReader) *Trail {
	return &Trail{chain: chain, reader: reader}
}

// A zero limit selects the default; a limit above the maximum selects the maximum.
func (t *Trail) Page(ctx context.Context, f audit.Filter) (audit.Page, error) {
	f.Limit = page.Clamp(f.Limit, audit.DefaultPage, audit.MaxPage)
	stored, more, err := t.reader.Page(ctx, f)
	if err != nil {
		return audit.Page{}, err
	}
	p := audit.Page{Lines: make([]audit.Line, 0, len(stored)), HasMore: more}
	for i := range stored {
		line, err := Line(&stored[i])
		if err != nil {
			return audit.Page{}, fmt.Errorf("read entry %d of the trail: %w", stored[i].Seq, err)
		}
		p.Lines = append(p.Lines, line)
	}
	if more && len(stored) > 0 {
		p.NextBefore = stored[len(stored)-1].Seq
	}
	return p, nil
}

func (t *Trail) ReceiptOf(ctx context.Context, run string) (audit.Receipt, bool, error) {
	first, err := t.reader.OfRun(ctx, run, 1)
	if err != nil || len(first) == 0 {
		return audit.Receipt{}, false, err
	}
	return audit.Receipt{Seq: first[0].Seq, Hash: first[0].Hash}, true, nil
}

func (t *Trail) Size(ctx context.Context) (int64, error) {
	tip, err := t.chain.Tip(ctx)
	return tip.Size, err
}
