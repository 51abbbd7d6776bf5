// Package envvar has the engine env: secrets in the environment of the server's own process, of which a pattern says
// which may be read.
package envvar
