package hook

import (
	"testing"
	"time"
)

// TestRefusals logs one refusal of each trigger in a pause, however many come.
func TestRefusals(t *testing.T) {
	t.Parallel()
	var r refusals
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for i, c := range []struct {
		trigger string
		after   time.Duration
		want    bool
	}{
		{"a", 0, true}, {"a", 0, false}, {"b", time.Second, true}, {"a", refusalPause - 1, false},
		{"a", refusalPause, true}, {"a", refusalPause + 1, false}, {"b", refusalPause + time.Second, true},
	} {
		if got := r.logs(c.trigger, start.Add(c.after)); got != c.want {
			t.Errorf("%d: %s after %s: %t", i, c.trigger, c.after, got)
		}
	}
}
