// Package token makes and checks the text of bearer tokens: writ_, 32 random base62 characters, _, and the CRC-32 of
// those characters in base62, padded to six. The checksum keeps mistyped and made-up tokens from the store; it is no
// protection, the randomness is.
package token
