package system

import (
	"context"
	"time"
)

// Info describes the running binary.
type Info struct {
	Version string
	Commit  string
	Started time.Time
}

// Health reports whether the install can do its work.
type Health interface {
	// Ready reads a table of the store. Errors: Unavailable if that does not succeed within a second.
	Ready(ctx context.Context) error
}

// Probe reads one row of the store.
type Probe interface {
	Probe(ctx context.Context) error
}
