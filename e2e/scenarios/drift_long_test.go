//go:build long

package scenarios

import "testing"

// TestDriftOfAFleet tampers with some of twenty hosts, and looks ten times.
func TestDriftOfAFleet(t *testing.T) {
	t.Parallel()
	tellDrift(t, 20, 10)
}
