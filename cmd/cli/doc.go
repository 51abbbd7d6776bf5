// Package cli is the writ command. A custom binary with compiled-in extensions calls Execute from its own main.
//
// The client commands use only the REST API; serve, worker and the commands over a database are assembled by
// cmd/compose.
package cli
