package runs

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
)

// Alike reports whether two values have the same JSON, whatever the order of members. The time that it takes tells
// nothing of where they differ.
func Alike(a, b any) (bool, error) {
	x, err := sumJSON(a)
	if err != nil {
		return false, err
	}
	y, err := sumJSON(b)
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1, err
}

// sumJSON returns the digest of a value's JSON with its members in order and its numbers as they are written.
func sumJSON(v any) (sum [sha256.Size]byte, err error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return sum, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var ordered any
	if err := d.Decode(&ordered); err != nil {
		return sum, err
	}
	raw, err = json.Marshal(ordered)
	return sha256.Sum256(raw), err
}
