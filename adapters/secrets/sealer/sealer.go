package sealer

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secrets"
)

const (
	// keySize is the length of key-encryption keys and of data keys: AES-256.
	keySize = 32
	idSize  = 8
	// overhead is the size of what AES-GCM adds to a text: the nonce before it and the tag after it.
	overhead = 12 + 16
	version  = 1
	// idContext separates a key's id from every other digest of it.
	idContext = "writ kek id"
	// digestContext separates the key of digests from the key that it is made of.
	digestContext = "writ digests"
)

// magic begins a sealed form: that it is one, and its version. The id of the key-encryption key, the wrapped data key
// and the text follow, each of the latter two as nonce, ciphertext and tag.
var magic = []byte{'W', 'S', version}

// wrapped is the length of a data key under a key-encryption key.
const wrapped = keySize + overhead

// keyID identifies a key-encryption key and reveals nothing of it.
type keyID [idSize]byte

func idOf(key []byte) keyID {
	sum := sha256.Sum256(append([]byte(idContext), key...))
	return keyID(sum[:idSize])
}

func (id keyID) String() string { return hex.EncodeToString(id[:]) }

// keyring is the key-encryption keys that are at hand. Of the keys themselves it keeps nothing but the ciphers.
type keyring struct {
	current keyID
	keys    map[keyID]cipher.AEAD // empty if the keys are lost
	digest  []byte                // the key of digests, made of the current key
}

// Sealer implements secrets.Rewrapper. It may be used from many goroutines, and prints without a key.
type Sealer struct {
	keyring *atomic.Pointer[keyring]
	file    *watched // nil if the keys are in no file
}

var (
	_ secrets.Rewrapper = (*Sealer)(nil)
	_ secrets.Digester  = (*Sealer)(nil)
)

// newSealer takes the keys, the current one first. Without any, everything is lost.
func newSealer(keys [][]byte, file *watched) (*Sealer, error) {
	r, err := newKeyring(keys)
	if err != nil {
		return nil, err
	}
	s := &Sealer{keyring: new(atomic.Pointer[keyring]), file: file}
	s.keyring.Store(r)
	return s, nil
}

func newKeyring(keys [][]byte) (*keyring, error) {
	r := &keyring{keys: make(map[keyID]cipher.AEAD, len(keys))}
	for i, key := range keys {
		id := idOf(key)
		if i == 0 {
			r.current = id
			var err error
			if r.digest, err = hkdf.Key(sha256.New, key, nil, digestContext, sha256.Size); err != nil {
				return nil, fmt.Errorf("derive the key of digests: %w", err)
			}
		}
		aead, err := gcm(key)
		if err != nil {
			return nil, err
		}
		r.keys[id] = aead
	}
	return r, nil
}

// gcm returns AES-256-GCM that puts a random nonce before each ciphertext. The key-encryption key so encrypts as many
// data keys as random nonces of 96 bits allow, four thousand millions; a data key encrypts one text.
func gcm(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	return aead, nil
}

// bound is the additional data of both encryptions: what is sealed opens in this version, under this key and for this
// record alone.
func bound(id keyID, record string) []byte {
	out := make([]byte, 0, 1+idSize+len(record))
	out = append(out, version)
	out = append(out, id[:]...)
	return append(out, record...)
}

// KeyID returns the id of the key that seals, in hex, empty where no key is at hand.
func (s *Sealer) KeyID() string {
	r := s.keys()
	if len(r.keys) == 0 {
		return ""
	}
	return r.current.String()
}

// KeyIDOf returns the id, in hex, of the key that sealed a text, whether or not it is at hand. An Internal fault for
// what is no sealed form.
func KeyIDOf(sealed []byte) (string, error) {
	id, _, _, err := parse(sealed)
	if err != nil {
		return "", err
	}
	return id.String(), nil
}

func (s *Sealer) Seal(_ context.Context, record string, plain []byte) ([]byte, error) {
	if record == "" {
		return nil, errors.New("seal a secret: it is for no record")
	}
	r := s.keys()
	kek, ok := r.keys[r.current]
	if !ok {
		return nil, lost()
	}
	key := make([]byte, keySize)
	defer clear(key)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make a data key: %w", err)
	}
	aead, err := gcm(key)
	if err != nil {
		return nil, err
	}
	with := bound(r.current, record)
	out := make([]byte, 0, len(magic)+idSize+wrapped+len(plain)+overhead)
	out = append(out, magic...)
	out = append(out, r.current[:]...)
	out = kek.Seal(out, nil, key, with)
	return aead.Seal(out, nil, plain, with), nil
}

func (s *Sealer) Open(_ context.Context, record string, sealed []byte) ([]byte, error) {
	r := s.keys()
	if len(r.keys) == 0 {
		return nil, lost()
	}
	id, envelope, text, err := parse(sealed)
	if err != nil {
		return nil, err
	}
	kek, ok := r.keys[id]
	if !ok {
		return nil, secrets.KeyLost.New("the secret was sealed under the encryption key %s, which this install does not have",
			id)
	}
	with := bound(id, record)
	key, err := kek.Open(nil, nil, envelope, with)
	if err != nil {
		return nil, altered()
	}
	defer clear(key)
	if len(key) != keySize {
		return nil, altered()
	}
	aead, err := gcm(key)
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, nil, text, with)
	if err != nil {
		return nil, altered()
	}
	return plain, nil
}

// Digest implements secrets.Digester: HMAC-SHA256 under a key that is derived from the current key-encryption key
// (RFC 5869).
func (s *Sealer) Digest(_ context.Context, purpose string, text []byte) ([]byte, error) {
	r := s.keys()
	if len(r.keys) == 0 {
		return nil, lost()
	}
	mac := hmac.New(sha256.New, r.digest)
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(purpose)))
	mac.Write(n[:])
	mac.Write([]byte(purpose))
	mac.Write(text)
	return mac.Sum(nil), nil
}

// Rewrap returns the sealed form under the current key. A text that the current key sealed is opened and returned
// unchanged; any other is sealed again under a new data key. The errors are those of Open and Seal.
func (s *Sealer) Rewrap(ctx context.Context, record string, sealed []byte) ([]byte, error) {
	plain, err := s.Open(ctx, record, sealed)
	if err != nil {
		return nil, err
	}
	defer clear(plain)
	current := s.keyring.Load().current
	if bytes.HasPrefix(sealed[len(magic):], current[:]) {
		return bytes.Clone(sealed), nil
	}
	return s.Seal(ctx, record, plain)
}

// parse splits a sealed form into its parts.
func parse(sealed []byte) (id keyID, envelope, text []byte, err error) {
	rest, ok := bytes.CutPrefix(sealed, magic)
	if !ok || len(rest) < idSize+wrapped+overhead {
		return keyID{}, nil, nil, &fault.Error{Kind: fault.Internal,
			Message: "a sealed secret is in no form that this version reads"}
	}
	return keyID(rest[:idSize]), rest[idSize : idSize+wrapped], rest[idSize+wrapped:], nil
}

// altered returns the fault of a text that does not open under its own key. It does not name the part that failed.
func altered() error {
	return &fault.Error{Kind: fault.Internal, Message: "a sealed secret was altered, or belongs to another record"}
}

func lost() error {
	return secrets.KeyLost.New(
		"the encryption key of this install was not found: secrets can be neither sealed nor opened without it")
}

// String lists the keys by their ids.
func (s *Sealer) String() string {
	r := s.keyring.Load()
	if len(r.keys) == 0 {
		return "sealer without a key"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "sealer with key %s", r.current)
	if n := len(r.keys) - 1; n > 0 {
		fmt.Fprintf(&b, " and %d retired", n)
	}
	return b.String()
}

// Format prints the ids of the keys for every verb, %+v and %#v among them.
func (s *Sealer) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText returns the ids of the keys, for JSON and other encoders of text.
func (s *Sealer) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
