// Package envvar implements the engine env. It reads secrets from the environment of the server process; a pattern
// decides which variables may be read.
package envvar
