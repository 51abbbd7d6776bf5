package upkeep

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
	"github.com/writ-automation/writ/ports/tx"
)

const (
	tileWidth = tree.TileWidth
	kindBeat  = "beat"
)

// beat records that the service is alive, unless the install did so within the interval.
func (b *Background) beat(ctx context.Context) error {
	if !b.due(b.p.Clock.Now()) {
		return nil
	}
	id, err := b.p.Install.Identity(ctx)
	if err != nil {
		return err
	}
	object := audit.Object{Kind: kindBeat, ID: id.InstallID}
	if _, b.beaten, err = b.lastBeat(ctx, object); err != nil || b.beaten.IsZero() || !b.due(b.p.Clock.Now()) {
		return err
	}
	err = b.p.Unit.Do(tx.Alone(ctx), func(ctx context.Context) error {
		// Nobody else beats while the tip is locked, so the last beat that is found now is the last one by the shared
		// clock of all servers.
		tip, now, err := b.p.Chain.Lock(ctx)
		if err != nil {
			return err
		}
		seq, at, err := b.lastBeat(ctx, object)
		if err != nil {
			return err
		}
		if b.beaten = at; at.IsZero() || !b.due(now) {
			return nil
		}
		b.beaten = now
		return b.p.Recorder.Record(ctx, audit.Entry{
			Action: audit.AuditBeat, Object: object, Detail: map[string]any{"count": tip.Size - seq},
		})
	})
	if err != nil {
		b.beaten = time.Time{} // the outcome is unknown
	}
	return err
}

// due reports whether the interval is over. A clock that was set back does not lengthen the interval.
func (b *Background) due(now time.Time) bool {
	passed := now.Sub(b.beaten)
	return passed >= b.cfg.Beat || passed <= -b.cfg.Beat
}

// lastBeat returns the number and the time of the last beat. Before the first beat it returns 0 and the time of the
// first entry. The zero time means that the chain has no first entry: it is empty, or it was tampered with, and a beat
// would only hide that.
func (b *Background) lastBeat(ctx context.Context, object audit.Object) (seq int64, at time.Time, err error) {
	newest, _, err := b.p.Reader.Page(ctx, audit.Filter{Object: object.Kind + "/" + object.ID, Limit: 1})
	if err != nil {
		return 0, time.Time{}, err
	}
	if len(newest) == 1 {
		at, err = (&leaf.Leaf{At: newest[0].At}).Time()
		return newest[0].Seq, at, err
	}
	err = b.p.Reader.Range(ctx, 1, 1, false, func(e *audit.Stored) error {
		at, err = (&leaf.Leaf{At: e.At}).Time()
		return err
	})
	return 0, at, err
}
