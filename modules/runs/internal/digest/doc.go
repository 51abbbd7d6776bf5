// Package digest makes the digests by which a run is recognized later: over its events, its hosts and what was asked
// for. It depends on its arguments alone.
package digest
