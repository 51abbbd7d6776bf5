// Package token mints, keeps and revokes bearer tokens. The text of one is writ_, 32 random base62 characters, _, and
// the CRC-32 of those characters in base62, padded to six. The checksum keeps mistyped and made-up tokens from the
// store; it is no protection, the randomness is.
package token
