// Package checkpointtest makes C2SP witnesses and their cosignatures for tests.
package checkpointtest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Witness is a witness with an Ed25519 key.
type Witness struct {
	Name string
	key  ed25519.PrivateKey
}

// NewWitness makes a witness whose key has a seed of this byte.
func NewWitness(name string, seed byte) Witness {
	return Witness{name, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))}
}

func (w Witness) material() []byte {
	return append([]byte{4}, w.key.Public().(ed25519.PublicKey)...)
}

func (w Witness) hash() []byte {
	sum := sha256.Sum256(append([]byte(w.Name+"\n"), w.material()...))
	return sum[:4]
}

// VKey returns the verifier key.
func (w Witness) VKey() string {
	return w.Name + "+" + hex.EncodeToString(w.hash()) + "+" + base64.StdEncoding.EncodeToString(w.material())
}

// Cosign returns the note with the line of the witness.
func (w Witness) Cosign(t testing.TB, note string, at time.Time) string {
	t.Helper()
	text, _, ok := strings.Cut(note, "\n\n")
	if !ok {
		t.Fatalf("%q is no note", note)
	}
	sig := binary.BigEndian.AppendUint64(w.hash(), uint64(at.Unix())) //nolint:gosec // after 1970
	sig = append(sig, ed25519.Sign(w.key, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s\n", at.Unix(), text))...)
	return note + "\u2014 " + w.Name + " " + base64.StdEncoding.EncodeToString(sig) + "\n"
}
