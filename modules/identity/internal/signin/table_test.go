package signin

import (
	"testing"
	"time"
)

// TestFullTable floods a small table: its size stays bounded, and an entry with many failures survives others that
// have one.
func TestFullTable(t *testing.T) {
	t.Parallel()
	const size = 64
	tab := table[int]{limit: perPair, capacity: size}
	for range perPair {
		tab.add(-1, 0)
	}
	for i := range 100 * size {
		tab.add(i, time.Second)
		if len(tab.entries) > size {
			t.Fatalf("%d entries", len(tab.entries))
		}
	}
	if wait, _ := tab.wait(-1, time.Second); wait != window-time.Second {
		t.Errorf("a flood of others resets an entry: %v", wait)
	}
}

// TestOverIsForgotten gives memory back without being asked.
func TestOverIsForgotten(t *testing.T) {
	t.Parallel()
	tab := table[int]{limit: 1, capacity: 1 << 20}
	for i := range 1000 {
		tab.add(i, time.Duration(i))
	}
	if tab.add(-1, 2*window); len(tab.entries) != 1 {
		t.Errorf("%d entries after two windows", len(tab.entries))
	}
	if tab.remove(-1, 2*window); len(tab.entries) != 0 {
		t.Errorf("%d entries after the last was taken back", len(tab.entries))
	}
}
