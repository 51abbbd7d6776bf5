// Package access resolves callers and keeps their tokens.
package access
