//go:build race

package harness

// raceFlags makes the server under test carry the race detector whenever the test does.
func raceFlags() []string { return []string{"-race"} }

// Race tells tests whether to do less, since everything is slower.
const Race = true
