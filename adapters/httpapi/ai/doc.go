// Package ai serves the advice of a language model over HTTP, at once or as server-sent events.
package ai
