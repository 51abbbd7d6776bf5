package digest

import (
	"errors"
	"fmt"

	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
	"github.com/writ-automation/writ/ports/runs"
)

// Events folds a run's events, one after the other, in memory that grows with the logarithm of their number. The zero
// value has none.
type Events struct{ tree tree.Range }

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
	e.tree.Append(leaf.Hash(line))
	return nil
}

// Count returns how many events were folded.
func (e *Events) Count() int64 { return int64(e.tree.Size()) }

// Clone returns a fold that grows apart from this one.
func (e *Events) Clone() (Events, error) { return *e, nil }

// Sum returns the number of events and the root over them.
func (e *Events) Sum() (*runs.EventsDigest, error) {
	return &runs.EventsDigest{Count: e.Count(), Root: e.tree.Root()}, nil
}
