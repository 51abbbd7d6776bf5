// Package provide opens the credentials of a run: it reads them, calls their engines, and merges what they add.
package provide
