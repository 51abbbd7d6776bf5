package runs

import (
	"sync"

	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of the cached records: their number in each of two generations, and the text of one record in bytes.
const (
	endedGeneration = 2048
	endedText       = 4 << 10
)

// endedRuns caches the list records of ended runs. Such a record never changes, which the revision confirms. Pages of
// history consist mostly of such records, and decoding one takes much longer than finding it. A full generation
// replaces the older one, so that records in use stay.
type endedRuns struct {
	mu         sync.Mutex
	young, old map[int64]*runs.Run
}

func newEnded() *endedRuns { return &endedRuns{young: make(map[int64]*runs.Run)} }

// get returns a copy of the record with this revision, or nil. The copy is shallow, so that callers must not change
// what it points to.
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

// put caches a copy of the record if the run has ended and the record is not large.
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
