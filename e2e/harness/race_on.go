//go:build race

package harness

// raceFlags makes the server under test carry the race detector whenever the test does.
func raceFlags() []string { return []string{"-race"} }

// Race reports whether tests run with the slower race detector and should do less.
const Race = true
