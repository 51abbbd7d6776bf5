// Package secrets keeps credentials and their types sealed, and opens them for the runs that hold them.
package secrets
