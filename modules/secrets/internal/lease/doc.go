// Package lease tracks what engines minted until it is revoked: in memory while this process lives, and sealed in the
// store for other processes. It also bounds every call of an engine.
package lease
