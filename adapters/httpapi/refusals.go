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
	// maxRefused bounds the accounts that are counted at once. Beyond it the rest shares one count.
	maxRefused = 4096
)

// refusals counts what each account was refused, so that one in a loop does not fill the trail, which keeps its
// entries for ever.
type refusals struct {
	now func() time.Duration // on a clock that never goes back

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

// count counts one refusal of an account. wait is how long the account is to wait where it has had too many, else zero.
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
