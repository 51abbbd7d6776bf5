// Package lease keeps what engines minted until it is revoked: in memory as long as this process lives, and sealed in
// the store for whoever comes after it. It also bounds every call of an engine.
package lease
