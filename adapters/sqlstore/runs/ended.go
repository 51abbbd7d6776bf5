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

// get returns the records with these revisions, nil for each that is not cached, and the seqs of those. The records are
// shared.
func (e *endedRuns) get(list []version) (out []*runs.Run, missing []any) {
	out = make([]*runs.Run, len(list))
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, v := range list {
		r := e.young[v.seq]
		if r == nil {
			if r = e.old[v.seq]; r != nil {
				e.store(r)
			}
		}
		if r != nil && r.Revision == v.revision {
			out[i] = r
		} else {
			missing = append(missing, v.seq)
		}
	}
	return out, missing
}

// put caches the record if the run has ended and the record is not large. It must not be changed from then on.
func (e *endedRuns) put(r *runs.Run) {
	if !r.Status.Terminal() || len(r.Spec.Command)+len(r.Error)+len(r.Name)+len(r.Spec.Playbook) > endedText {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.store(r)
}

func (e *endedRuns) store(r *runs.Run) {
	if len(e.young) >= endedGeneration {
		e.young, e.old = make(map[int64]*runs.Run, endedGeneration), e.young
	}
	e.young[r.Seq] = r
}
