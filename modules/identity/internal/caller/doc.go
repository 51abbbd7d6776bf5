// Package caller resolves who calls, and tells callers about themselves.
package caller
