package httpapi

import (
	"sync"
	"time"

	"github.com/writ-automation/writ/platform/clock"
)

const (
	// refusalsPerWindow is how many refusals of one account are recorded within refusalWindow: more than a person can
	// come by.
	refusalsPerWindow = 60
	refusalWindow     = time.Minute
	// maxRefused limits the accounts that are counted at once. All others share one count.
	maxRefused = 4096
)

// refusals counts the refusals of each account, so that an account in a loop does not fill the trail, which never
// deletes entries.
type refusals struct {
	now func() time.Duration // a monotonic clock

	mu sync.Mutex
	of map[string]tally
}

type tally struct {
	began time.Duration
	n     int
}

func newRefusals() *refusals {
	since := clock.Start()
	return &refusals{now: since.Elapsed, of: make(map[string]tally)}
}

// count counts one refusal of an account. wait is the time that the account must wait after too many, else zero.
func (r *refusals) count(account string) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	t, known := r.of[account]
	if !known && len(r.of) >= maxRefused {
		if r.sweep(now); len(r.of) >= maxRefused {
			account = ""
			t = r.of[account]
		}
	}
	if now-t.began >= refusalWindow || t.n == 0 {
		t = tally{began: now}
	}
	if t.n >= refusalsPerWindow {
		return t.began + refusalWindow - now
	}
	t.n++
	r.of[account] = t
	return 0
}

// sweep forgets counts that are over.
func (r *refusals) sweep(now time.Duration) {
	for account, t := range r.of {
		if now-t.began >= refusalWindow {
			delete(r.of, account)
		}
	}
}
