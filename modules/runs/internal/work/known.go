package work

import (
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/runs"
)

// maxKnown bounds the claims of each of two generations.
const maxKnown = 1024

// known holds the times of claims that were made here and are the first events of their runs, so that the ends of the
// runs need not read them. A full generation replaces the older one.
type known struct {
	mu         sync.Mutex
	young, old map[runs.Lease]time.Time
}

// put keeps the time of a claim.
func (k *known) put(a *runs.Assignment, at time.Time) {
	if a.NextSeq != 2 {
		return // the run had events before
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.young == nil || len(k.young) >= maxKnown {
		k.young, k.old = make(map[runs.Lease]time.Time), k.young
	}
	k.young[a.Lease] = at
}

// events returns the event of a claim, none if it is not known.
func (k *known) events(l runs.Lease) (e record.Events, err error) {
	k.mu.Lock()
	at, ok := k.young[l]
	if !ok {
		at, ok = k.old[l]
	}
	k.mu.Unlock()
	if ok {
		claimed := runs.StatusEvent(&runs.Run{EventCount: 1, Status: runs.Running}, runs.Pending, at)
		err = e.Add(&claimed)
	}
	return e, err
}

// drop forgets a claim that is over.
func (k *known) drop(l runs.Lease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.young, l)
	delete(k.old, l)
}
