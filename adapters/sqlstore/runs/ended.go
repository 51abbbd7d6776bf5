package runs

import (
	"sync"

	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of the records that are kept: how many in each of two generations, and how much text of one.
const (
	endedGeneration = 2048
	endedText       = 4 << 10
)

// endedRuns keeps list records of runs that have ended. Such a record never changes again, and reading one costs far
// more in decoding its columns than in finding it; a page of history is mostly made of them. The revision guards the
// rule. When a generation is full the one before it goes, so what is asked for again and again stays.
type endedRuns struct {
	mu         sync.Mutex
	young, old map[int64]*runs.Run
}

func newEnded() *endedRuns { return &endedRuns{young: make(map[int64]*runs.Run)} }

// get returns a copy of the record of this revision, nil where it is not kept. What the copy points to is shared: a
// list's records are not to be changed in place.
func (e *endedRuns) get(seq, revision int64) *runs.Run {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.young[seq]
	if r == nil {
		if r = e.old[seq]; r == nil {
			return nil
		}
		e.store(r)
	}
	if r.Revision != revision {
		return nil
	}
	c := *r
	return &c
}

// put keeps a copy of a record that has ended and is not large.
func (e *endedRuns) put(r *runs.Run) {
	if !r.Status.Terminal() || len(r.Spec.Command)+len(r.Error)+len(r.Name)+len(r.Spec.Playbook) > endedText {
		return
	}
	c := *r
	e.mu.Lock()
	defer e.mu.Unlock()
	e.store(&c)
}

func (e *endedRuns) store(r *runs.Run) {
	if len(e.young) >= endedGeneration {
		e.young, e.old = make(map[int64]*runs.Run, endedGeneration), e.young
	}
	e.young[r.Seq] = r
}
