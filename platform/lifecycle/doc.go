// Package lifecycle turns the signals of an init system into the life of a process: the first one asks it to drain, the
// second one ends it at once.
package lifecycle
