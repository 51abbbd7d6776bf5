//go:build race

package harness

// raceFlags builds the server under test with the race detector, like the test.
func raceFlags() []string { return []string{"-race"} }

// Race reports whether tests run with the slower race detector and should do less.
const Race = true
