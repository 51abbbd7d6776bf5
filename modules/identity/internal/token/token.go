package token

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/identity"
)

const (
	prefix   = "writ_"
	randLen  = 32
	sumLen   = 6
	sumAt    = len(prefix) + randLen
	totalLen = sumAt + 1 + sumLen
	alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	base     = uint32(len(alphabet))
	// unbiased is the largest multiple of the base that a byte can hold; bytes from there on are thrown away, so that
	// every character is equally likely.
	unbiased = 256 - 256%int(base)
)

// New makes a token with 190 random bits.
func New() string {
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

func checksum(random string) (out [sumLen]byte) {
	n := crc32.ChecksumIEEE([]byte(random))
	for i := sumLen - 1; i >= 0; i-- {
		out[i] = alphabet[n%base]
		n /= base
	}
	return out
}

// WellFormed reports whether s could be a token.
func WellFormed(s string) bool {
	if len(s) != totalLen || !strings.HasPrefix(s, prefix) || s[sumAt] != '_' {
		return false
	}
	random := s[len(prefix):sumAt]
	for i := range len(random) {
		if !base62(random[i]) {
			return false
		}
	}
	sum := checksum(random)
	return s[sumAt+1:] == string(sum[:])
}

func base62(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// Hash is what the store keeps in place of a token and looks it up by.
func Hash(s string) [sha256.Size]byte { return sha256.Sum256([]byte(s)) }

// Over reports whether a token has expired.
func Over(t identity.Token, now time.Time) bool {
	return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt)
}
