// Package waittest waits in tests for what other goroutines and processes do.
package waittest

import (
	"testing"
	"time"
)

// Eventually polls until ok holds. It ends the test with what did not happen if that takes longer than a limit.
func Eventually(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	late, look := time.NewTimer(limit), time.NewTicker(2*time.Millisecond)
	defer late.Stop()
	defer look.Stop()
	for !ok() {
		select {
		case <-look.C:
		case <-late.C:
			t.Fatalf("still waiting after %s: %s", limit, what)
		}
	}
}
