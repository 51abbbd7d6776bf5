// Package argon2 hashes passwords with argon2id, at most one per core at once: the memory and time of a hash make
// guessing expensive, so concurrent requests must be limited.
package argon2
