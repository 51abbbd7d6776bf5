// Package facts makes keys and values of the document that was gathered on a host, knows which of them are volatile,
// records them and answers questions about them.
package facts
