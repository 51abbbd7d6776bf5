// Package lifecycle maps the signals of an init system to the states of a process: the first signal starts the drain,
// the second one ends the process at once.
package lifecycle
