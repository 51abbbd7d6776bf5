package keys

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
)

const (
	mask        = "***"
	privateType = "PRIVATE KEY"
	maxPEM      = 4 << 10
)

// Signer signs with one key for one use. Private implements it, and so can a key in hardware.
type Signer interface {
	// Public returns the public half.
	Public() ed25519.PublicKey
	// Use returns the kind of data that the key may sign; other uses refuse the signer.
	Use() Use
	// Sign returns the Ed25519 signature of a message that is not hashed in advance.
	Sign(msg []byte) ([]byte, error)
}

// Private is a private key with its use. Every way of formatting, logging or marshalling it prints asterisks, also for
// a field that fmt reads by reflection, since a function holds the key.
type Private struct {
	use Use
	key func() ed25519.PrivateKey
}

var _ Signer = Private{}

// Generate makes a private key. The two uses need two keys: a note's signature covers bare text and would be valid for
// any other use of the same text.
func Generate(use Use) (Private, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Private{}, fmt.Errorf("generate a signing key: %w", err)
	}
	return newPrivate(key, use)
}

// FromSeed makes the private key from a seed of 32 bytes.
func FromSeed(seed []byte, use Use) (Private, error) {
	if len(seed) != ed25519.SeedSize {
		return Private{}, FormatInvalid.New("a seed has %d bytes", ed25519.SeedSize)
	}
	return newPrivate(ed25519.NewKeyFromSeed(seed), use)
}

func newPrivate(key ed25519.PrivateKey, use Use) (Private, error) {
	if !use.known() {
		return Private{}, FormatInvalid.New("the use of a key is checkpoint or statement")
	}
	return Private{use: use, key: func() ed25519.PrivateKey { return key }}, nil
}

// ParsePrivate reads a private key from the PKCS#8 PEM of MarshalPrivate and nothing else: no headers, no text around
// it, no second block, no other algorithm. Its error never contains the input.
func ParsePrivate(text []byte, use Use) (Private, error) {
	bad := FormatInvalid.New("the private key is not one PKCS#8 PEM block of an Ed25519 key")
	if len(text) > maxPEM {
		return Private{}, bad
	}
	block, rest := pem.Decode(text)
	if block == nil || block.Type != privateType || len(rest) != 0 {
		return Private{}, bad
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return Private{}, bad
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return Private{}, bad
	}
	made, err := newPrivate(key, use)
	if err != nil {
		return Private{}, err
	}
	again, err := MarshalPrivate(made)
	if err != nil || !bytes.Equal(again, text) {
		return Private{}, bad
	}
	return made, nil
}

// MarshalPrivate returns the key as PKCS#8 PEM. It is the only access to the secret; the caller must not log the
// result and must encrypt it before it is stored.
func MarshalPrivate(p Private) ([]byte, error) {
	if p.key == nil {
		return nil, FormatInvalid.New("there is no private key to write")
	}
	der, err := x509.MarshalPKCS8PrivateKey(p.key())
	if err != nil {
		return nil, fmt.Errorf("write a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: privateType, Bytes: der}), nil
}

// The zero value has no public key.
func (p Private) Public() ed25519.PublicKey {
	if p.key == nil {
		return nil
	}
	public, _ := p.key().Public().(ed25519.PublicKey)
	return public
}

// Use returns the use of the key.
func (p Private) Use() Use { return p.use }

// Sign signs a message. Without a private key it fails with KeyUntrusted.
func (p Private) Sign(msg []byte) ([]byte, error) {
	if p.key == nil {
		return nil, KeyUntrusted.New("there is no private key to sign with")
	}
	return p.key().Sign(nil, msg, crypto.Hash(0))
}

// String returns asterisks.
func (p Private) String() string { return mask }

// Format prints asterisks for every verb, including %#v and %x.
func (p Private) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, mask) }

func (p Private) LogValue() slog.Value { return slog.StringValue(mask) }

// MarshalText returns asterisks for JSON and other text encodings.
func (p Private) MarshalText() ([]byte, error) { return []byte(mask), nil }
