package prove

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/receipt"
)

func (w *fixture) Range(ctx context.Context, from, to int64, private bool, fn func(e *audit.Stored) error) error {
	w.ranges.Add(1)
	if w.onRange != nil {
		w.onRange()
	}
	if w.slow != nil {
		select {
		case <-w.slow:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for _, e := range w.rows {
		if e.Seq < from || e.Seq > to {
			continue
		}
		if !private {
			e.Disclosures, e.Detail = nil, ""
		}
		if err := fn(&e); err != nil {
			return err
		}
	}
	return nil
}

func (w *fixture) Page(_ context.Context, f audit.Filter) (out []audit.Stored, more bool, err error) {
	// Like a table: ordered by number, whatever the order of the rows.
	rows := slices.Clone(w.rows)
	slices.SortStableFunc(rows, func(a, b audit.Stored) int { return cmp.Compare(b.Seq, a.Seq) })
	return rows[:min(f.Limit, len(rows))], f.Limit < len(rows), nil
}

func (w *fixture) OfRun(_ context.Context, run string, limit int) (out []audit.Stored, err error) {
	for _, e := range w.rows {
		if receipt.Belongs(run, e.Run, e.Object) && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, nil
}

func (w *fixture) Count(context.Context) (n, last int64, err error) {
	for _, e := range w.rows {
		last = max(last, e.Seq)
	}
	return int64(len(w.rows)), last, nil
}

func (w *fixture) Tip(context.Context) (audit.Tip, error) {
	if w.tip != nil {
		return *w.tip, nil
	}
	if len(w.rows) == 0 {
		return audit.Tip{}, nil
	}
	last := w.rows[len(w.rows)-1]
	return audit.Tip{Size: last.Seq, Hash: last.Hash}, nil
}

func (w *fixture) Anchors(_ context.Context, fn func(a *audit.Anchor) error) error {
	for _, a := range w.anchors {
		if err := fn(&a); err != nil {
			return err
		}
	}
	return nil
}

func (w *fixture) NewestAnchors(_ context.Context, kind string, limit int) (out []audit.Anchor, err error) {
	for _, a := range slices.Backward(w.anchors) {
		if (kind == "" || a.Kind == kind) && len(out) < limit {
			out = append(out, a)
		}
	}
	return out, nil
}

func (w *fixture) CountAnchors(context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	for _, a := range w.anchors {
		out[a.Kind]++
	}
	return out, nil
}

func (w *fixture) PutTile(context.Context, int64, int64, []byte) error { return nil }
func (w *fixture) Tile(context.Context, int64, int64) ([]byte, error)  { return nil, nil }
func (w *fixture) TileCount(context.Context, int64) (int64, error)     { return 0, nil }
func (w *fixture) DropTiles(context.Context) error                     { return nil }
func (w *fixture) Load() (string, error)                               { return w.filed, nil }
func (w *fixture) Save(string) error                                   { return nil }
func (w *fixture) Now() time.Time                                      { return w.now }
func (w *fixture) Signers(context.Context) (a, b keys.Signer, err error) {
	return w.head, w.passphrase, nil
}
func (w *fixture) Identity(context.Context) (i install.Identity, err error) {
	return install.Identity{InstallID: "in_test", Epoch: w.epochs[len(w.epochs)-1], Epochs: w.epochs, Keys: w.keys}, nil
}

func (w *fixture) Vouched(context.Context) (bool, error) { return w.vouched, nil }

func (w *fixture) Abandoned(install.Identity) func(context.Context, *audit.Anchor) (bool, error) {
	return func(_ context.Context, a *audit.Anchor) (bool, error) {
		return a.Kind != audit.KindWorker || w.vouched, nil
	}
}

func (w *fixture) Checkpoint(context.Context) (install.Head, error) {
	size, r := int64(len(w.signed)), root(w.signed)
	n, err := checkpoint.Sign(checkpoint.Body{Origin: testOrigin, Size: size, Root: r}, w.head)
	return install.Head{Epoch: 1, Size: size, Root: r, Note: string(n)}, err
}
