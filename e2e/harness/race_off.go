//go:build !race

package harness

// raceFlags is empty where the test itself runs without the race detector.
func raceFlags() []string { return nil }

// Race tells tests whether to do less, since everything is slower.
const Race = false
