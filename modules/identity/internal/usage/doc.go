// Package usage writes down when tokens were last used: in batches, after the requests, never in them.
package usage
