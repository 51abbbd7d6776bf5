package work

import (
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/runs"
)

// maxKnown bounds the claims of each of two generations.
const maxKnown = 1024

// known holds claims that were made here and are the first events of their runs, so that the ends of the runs need not
// read them. A full generation replaces the older one.
type known struct {
	mu         sync.Mutex
	young, old map[runs.Lease]claimed
}

// claimed is the time of a claim, and whether the run fails on no warning.
type claimed struct {
	at      time.Time
	lenient bool
}

// put keeps a claim.
func (k *known) put(a *runs.Assignment, at time.Time) {
	if a.NextSeq != 2 {
		return // the run had events before
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.young == nil || len(k.young) >= maxKnown {
		k.young, k.old = make(map[runs.Lease]claimed), k.young
	}
	k.young[a.Lease] = claimed{at, len(a.Run.Spec.FailOn) == 0}
}

func (k *known) get(l runs.Lease) (claimed, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.young[l]
	if !ok {
		c, ok = k.old[l]
	}
	return c, ok
}

// lenient reports whether the claimed run is known to fail on no warning.
func (k *known) lenient(l runs.Lease) bool {
	c, _ := k.get(l)
	return c.lenient
}

// events returns the event of a claim, none if it is not known.
func (k *known) events(l runs.Lease) (e record.Events, err error) {
	if c, ok := k.get(l); ok {
		first := runs.StatusEvent(&runs.Run{EventCount: 1, Status: runs.Running}, runs.Pending, c.at)
		err = e.Add(&first)
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
