package system

import (
	"context"
	"time"
)

// Info says which binary runs.
type Info struct {
	Version string
	Commit  string
	Started time.Time
}

// Health tells whether the install can do its work.
type Health interface {
	// Ready reads a table of the store and returns an Unavailable fault where that does not succeed in a second.
	Ready(ctx context.Context) error
}

// Probe reads one row of the store.
type Probe interface {
	Probe(ctx context.Context) error
}
