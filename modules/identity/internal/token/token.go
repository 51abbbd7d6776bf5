package token

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"
)

const (
	prefix   = "writ_"
	randLen  = 32
	sumLen   = 6
	sumAt    = len(prefix) + randLen
	totalLen = sumAt + 1 + sumLen
	alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	base     = uint32(len(alphabet))
	// unbiased is the largest multiple of the base in a byte. Bytes from there on are skipped, so that every character
	// is equally likely.
	unbiased = 256 - 256%int(base)
)

// random makes the text of a token with 190 random bits.
func random() string {
	var b strings.Builder
	b.Grow(totalLen)
	b.WriteString(prefix)
	for buf := make([]byte, randLen); b.Len() < sumAt; {
		_, _ = rand.Read(buf) // never fails: the runtime ends the process where there is no randomness
		for _, c := range buf {
			if int(c) < unbiased && b.Len() < sumAt {
				b.WriteByte(alphabet[int(c)%len(alphabet)])
			}
		}
	}
	sum := checksum(b.String()[len(prefix):])
	b.WriteByte('_')
	b.Write(sum[:])
	return b.String()
}

func checksum(characters string) (out [sumLen]byte) {
	n := crc32.ChecksumIEEE([]byte(characters))
	for i := sumLen - 1; i >= 0; i-- {
		out[i] = alphabet[n%base]
		n /= base
	}
	return out
}

// wellFormed reports whether s has the form and the checksum of a token.
func wellFormed(s string) bool {
	if len(s) != totalLen || !strings.HasPrefix(s, prefix) || s[sumAt] != '_' {
		return false
	}
	characters := s[len(prefix):sumAt]
	for i := range len(characters) {
		if !base62(characters[i]) {
			return false
		}
	}
	sum := checksum(characters)
	return s[sumAt+1:] == string(sum[:])
}

func base62(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// Hash returns the hash of a token, which the store has in its place.
func Hash(s string) [sha256.Size]byte { return sha256.Sum256([]byte(s)) }
