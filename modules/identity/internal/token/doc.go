// Package token issues, resolves and revokes bearer tokens, records when they are used, and describes their callers.
// Only this package knows the text of a token: writ_, 32 random base62 characters, _, and the CRC-32 of those
// characters in base62, padded to six. The checksum saves reads of the store for mistyped tokens; the randomness
// protects them.
package token
