package record

import (
	"errors"
	"fmt"

	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
	"github.com/writ-automation/writ/ports/runs"
)

// Events is the digest of a run's events, which are added in order. Its memory grows with the logarithm of their
// number, and a copy is independent of the original. The zero value has no events.
type Events struct{ tree tree.Range }

// ErrGap is the error for an event that does not follow the one before it.
var ErrGap = errors.New("events are missing")

// Add adds an event. It returns ErrGap if its number is not the next one.
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

// Count returns the number of events.
func (e *Events) Count() int64 { return int64(e.tree.Size()) }

// Sum returns the number of events and the root over them.
func (e *Events) Sum() *runs.EventsDigest {
	return &runs.EventsDigest{Count: e.Count(), Root: e.tree.Root()}
}
