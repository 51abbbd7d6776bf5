// Package control acts on existing runs: it cancels, approves and rejects them, and makes new runs from them.
package control
