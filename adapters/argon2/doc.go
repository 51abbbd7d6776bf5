// Package argon2 hashes passwords with argon2id, at most one for each core at once: what one hash takes in memory and
// time is chosen to be dear for who guesses, and so must be bounded for who asks.
package argon2
