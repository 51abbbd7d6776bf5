package runs

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"

	"github.com/writ-automation/writ/ports/proof/jcs"
)

// Alike reports whether two values have the same JSON; the order of members does not count, and numbers are equal if
// they are written the same way. The time that it takes does not depend on the position of a difference.
func Alike(a, b any) (bool, error) {
	x, err := sumJSON(a)
	if err != nil {
		return false, err
	}
	y, err := sumJSON(b)
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1, err
}

// sumJSON returns the digest of a value's canonical JSON, with its numbers as they are written.
func sumJSON(v any) (sum [sha256.Size]byte, err error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return sum, err
	}
	raw, err = jcs.Form{Null: true, Written: true, NUL: true, Depth: 10_000}.Transform(nil, raw)
	return sha256.Sum256(raw), err
}
