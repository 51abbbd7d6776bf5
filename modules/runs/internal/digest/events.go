package digest

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/rfc6962"

	"github.com/writ-automation/writ/ports/runs"
)

// Events folds a run's events, one after the other, in memory that grows with the logarithm of their number. The zero value
// has none.
type Events struct{ tree *compact.Range }

func factory() *compact.RangeFactory {
	return &compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}
}

// ErrGap says that an event does not follow the one before.
var ErrGap = errors.New("events are missing")

// Add folds the next event. It is ErrGap where its number is not the next one.
func (e *Events) Add(ev *runs.Event) error {
	if want := e.Count() + 1; ev.Seq != want {
		return fmt.Errorf("event %d instead of %d: %w", ev.Seq, want, ErrGap)
	}
	line, err := ev.Line()
	if err != nil {
		return err
	}
	if e.tree == nil {
		e.tree = factory().NewEmptyRange(0)
	}
	return e.tree.Append(rfc6962.DefaultHasher.HashLeaf(line), nil)
}

// Count returns how many events were folded.
func (e *Events) Count() int64 {
	if e.tree == nil {
		return 0
	}
	return int64(e.tree.End())
}

// Clone returns a fold that grows apart from this one.
func (e *Events) Clone() (Events, error) {
	if e.tree == nil {
		return Events{}, nil
	}
	hashes := append([][]byte(nil), e.tree.Hashes()...)
	t, err := factory().NewRange(0, e.tree.End(), hashes)
	return Events{tree: t}, err
}

// Sum returns the number of events and the root over them.
func (e *Events) Sum() (*runs.EventsDigest, error) {
	if e.Count() == 0 {
		return &runs.EventsDigest{Root: sha256.Sum256(nil)}, nil
	}
	root, err := e.tree.GetRootHash(nil)
	if err != nil {
		return nil, fmt.Errorf("fold events: %w", err)
	}
	d := &runs.EventsDigest{Count: e.Count()}
	copy(d.Root[:], root)
	return d, nil
}
