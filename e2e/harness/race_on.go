//go:build race

package harness

// raceFlags makes the server under test carry the race detector whenever the test does.
func raceFlags() []string { return []string{"-race"} }
