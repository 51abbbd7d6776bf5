package relayclient_test

import (
	"bytes"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/relayclient"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/waittest"
)

// TestCancelsComeWithAClaimThatWaits checks that each cancel arrives once, also for a run that was claimed during a
// wait, and after a server was unreachable.
func TestCancelsComeWithAClaimThatWaits(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *relayclient.Config) { c.Wait = 30 * time.Second })
	ch, stop := w.Cancels().Watch(events.TopicCancel)
	defer stop()
	if n := len(w.fake.calls("/claim")); n != 0 {
		t.Errorf("%d calls without a run", n)
	}
	first := w.claimed()
	waittest.Eventually(t, 20*time.Second, "nobody waits for cancels", func() bool { return waiting(w) == 1 })
	second := w.claimed()
	w.fake.cancel(second.Run.ID)
	if id := <-ch; id != second.Run.ID {
		t.Errorf("told of %s", id)
	}
	var refused atomic.Bool
	w.fake.set(func() {
		w.fake.instead = func(rw http.ResponseWriter, _ *http.Request, _ []byte) bool {
			if !refused.CompareAndSwap(false, true) {
				return false
			}
			refuse(rw, http.StatusServiceUnavailable, "unavailable")
			return true
		}
	})
	waittest.Eventually(t, 20*time.Second, "the next call is refused", refused.Load)
	w.fake.cancel(first.Run.ID)
	if id := <-ch; id != first.Run.ID { // and not again of the second one
		t.Errorf("told of %s", id)
	}
	if n := len(w.fake.calls("/heartbeat")); n != 0 {
		t.Errorf("%d heartbeats", n)
	}
}

// TestCancelsWithoutWaiting checks that heartbeats deliver them, and that other signals are not watched.
func TestCancelsWithoutWaiting(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	for _, topic := range []string{events.TopicCancel, events.TopicQueue} {
		if ch, stop := w.Cancels().Watch(topic); ch != nil {
			stop()
			t.Errorf("%s is watched", topic)
		}
	}
	if err := w.Cancels().Signal(t.Context(), events.TopicQueue, "q"); err != nil {
		t.Error(err)
	}
}

// waiting counts the claims for cancels that wait.
func waiting(w *fixture) (n int) {
	w.fake.mu.Lock()
	defer w.fake.mu.Unlock()
	if w.fake.waiting == 0 {
		return 0
	}
	for _, s := range w.fake.seen {
		if bytes.Contains(s.body, []byte(`"cancels":true`)) {
			n++
		}
	}
	return n
}
