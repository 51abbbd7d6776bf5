// Package cli is the writ command. A custom binary with compiled-in extensions calls Execute from its own main.
//
// The client commands speak the REST API and nothing else; serve, worker and the commands over a database wire the
// product through cmd/compose.
package cli
