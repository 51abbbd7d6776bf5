//go:build !race

package harness

// raceFlags is empty if the test itself runs without the race detector.
func raceFlags() []string { return nil }

// Race reports whether tests run with the slower race detector and should do less.
const Race = false
