package keys

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// Use is the kind of data that a key may sign.
type Use string

// The uses.
const (
	Checkpoint Use = "checkpoint" // heads of the log, as signed notes
	Statement  Use = "statement"  // receipts, manifests and seal.json, as DSSE envelopes
)

func (u Use) known() bool { return u == Checkpoint || u == Statement }

// Alg is a signature algorithm.
type Alg string

// Ed25519 is the only algorithm of keys.
const Ed25519 Alg = "ed25519"

// Status is the state of a key.
type Status string

// The statuses.
const (
	Next    Status = "next"    // published before its use, may sign nothing
	Active  Status = "active"  // may sign from FirstSize on
	Retired Status = "retired" // valid up to LastSize
	Revoked Status = "revoked" // compromised; valid up to TrustedSize, which an anchor of a third party covers
)

const (
	kidPrefix  = "sha256:"
	publicType = "PUBLIC KEY"
)

// Key is a public key with its use and validity.
type Key struct {
	ID          string // "sha256:" and the hex SHA-256 of the SubjectPublicKeyInfo
	VKey        string // the note verifier key under its origin, empty for a statement key
	SPKI        string // the SubjectPublicKeyInfo as PEM
	Alg         Alg
	Use         Use
	Status      Status
	NotBefore   time.Time
	FirstSize   int64  // the smallest tree for which it is valid
	LastSize    int64  // the largest one of a retired key; zero for all others
	TrustedSize int64  // the largest one of a revoked key; zero for all others
	Handover    string // the note at FirstSize, signed by this key and the one before it; empty for the first key
}

// NewKey describes a public key with the status Next. A checkpoint key takes its origin, a statement key takes none.
func NewKey(public ed25519.PublicKey, use Use, origin string) (Key, error) {
	if len(public) != ed25519.PublicKeySize || !use.known() {
		return Key{}, FormatInvalid.New("a key has %d bytes and a known use", ed25519.PublicKeySize)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return Key{}, FormatInvalid.New("the public key has no SubjectPublicKeyInfo").Because(err)
	}
	k := Key{
		ID: kid(der), SPKI: string(pem.EncodeToMemory(&pem.Block{Type: publicType, Bytes: der})),
		Alg: Ed25519, Use: use, Status: Next,
	}
	if use == Checkpoint {
		return k.Under(origin)
	}
	if origin != "" {
		return Key{}, FormatInvalid.New("a statement key has no origin")
	}
	return k, nil
}

// FromVKey describes the checkpoint key of a note verifier key. A reader who trusts that text trusts the key from the
// first entry on: its status is Active.
func FromVKey(vkey string) (Key, error) {
	name, public, err := splitVKey(vkey)
	if err != nil {
		return Key{}, err
	}
	k, err := NewKey(public, Checkpoint, name)
	k.Status = Active
	return k, err
}

func kid(spki []byte) string {
	sum := sha256.Sum256(spki)
	return kidPrefix + hex.EncodeToString(sum[:])
}

// CheckID checks the form of a key's id.
func CheckID(id string) error {
	digits, ok := strings.CutPrefix(id, kidPrefix)
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != sha256.Size || hex.EncodeToString(raw) != digits {
		return FormatInvalid.New("a key id is %s and 64 lower-case hex digits", kidPrefix)
	}
	return nil
}

// Under returns the same key with the verifier key of another origin, for a new epoch.
func (k Key) Under(origin string) (Key, error) {
	if k.Use != Checkpoint {
		return Key{}, FormatInvalid.New("only a checkpoint key has an origin")
	}
	if err := CheckOrigin(origin); err != nil {
		return Key{}, err
	}
	public, err := k.Public()
	if err != nil {
		return Key{}, err
	}
	k.VKey, err = note.NewEd25519VerifierKey(origin, public)
	if err != nil {
		return Key{}, FormatInvalid.New("the key has no verifier form").Because(err)
	}
	return k, nil
}

// Origin returns the origin of a checkpoint key, empty for a statement key.
func (k Key) Origin() string {
	name, _, _ := strings.Cut(k.VKey, "+")
	return name
}

// Public returns the public key in SPKI.
func (k Key) Public() (ed25519.PublicKey, error) {
	bad := FormatInvalid.New("the public key is not one PEM block of an Ed25519 SubjectPublicKeyInfo")
	if len(k.SPKI) > maxPEM {
		return nil, bad
	}
	block, rest := pem.Decode([]byte(k.SPKI))
	if block == nil || block.Type != publicType || len(rest) != 0 {
		return nil, bad
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, bad.Because(err)
	}
	public, ok := parsed.(ed25519.PublicKey)
	if !ok || string(pem.EncodeToMemory(&pem.Block{Type: publicType, Bytes: block.Bytes})) != k.SPKI {
		return nil, bad
	}
	if der, err := x509.MarshalPKIXPublicKey(public); err != nil || string(der) != string(block.Bytes) {
		return nil, bad
	}
	return public, nil
}

// Admit checks that the key is valid for a tree of this size. Faults: KeyRetired beyond the last size of a retired
// key; KeyUntrusted before the first size, beyond the trusted size of a revoked key, and for a key that is not in use.
func (k Key) Admit(size int64) error {
	switch {
	case size < 0 || size > MaxInteger:
		return FormatInvalid.New("%d is not a tree size", size)
	case k.Status == Retired && size > k.LastSize:
		return KeyRetired.New("key %s was retired at size %d and signed size %d", k.ID, k.LastSize, size)
	case k.Status == Revoked && size > k.TrustedSize:
		return KeyUntrusted.New("key %s is revoked and trusted up to size %d, not %d", k.ID, k.TrustedSize, size)
	case k.Status != Active && k.Status != Retired && k.Status != Revoked:
		return KeyUntrusted.New("key %s is not in use", k.ID)
	case size < k.FirstSize:
		return KeyUntrusted.New("key %s is valid from size %d on, not for %d", k.ID, k.FirstSize, size)
	default:
		return nil
	}
}

// Stricter returns the key with the narrower validity of two descriptions: it admits the sizes that both admit. A key
// with the status Next is in use if one of them lists it as used. Both have to describe one key; if no size is left,
// the result does not pass Check.
func (k Key) Stricter(other Key) Key {
	if rank(other.Status) > rank(k.Status) {
		k, other = other, k
	}
	end := min(k.end(), other.end())
	switch k.Status {
	case Retired:
		k.LastSize = end
	case Revoked:
		k.TrustedSize = end
	}
	k.FirstSize = max(k.FirstSize, other.FirstSize)
	return k
}

func rank(s Status) int { return slices.Index([]Status{Next, Active, Retired, Revoked}, s) }

// end returns the largest size for which the key is valid once it is in use.
func (k Key) end() int64 {
	switch k.Status {
	case Retired:
		return k.LastSize
	case Revoked:
		return k.TrustedSize
	default:
		return MaxInteger
	}
}

// Check checks that the parts of the key agree: the id and the verifier key with the public key, the sizes with the
// status.
func (k Key) Check() error {
	_, err := k.check()
	return err
}

func (k Key) check() (ed25519.PublicKey, error) {
	if k.Alg != Ed25519 || !k.Use.known() {
		return nil, FormatInvalid.New("the key has an unknown algorithm or use")
	}
	public, err := k.Public()
	if err != nil {
		return nil, err
	}
	made, err := NewKey(public, k.Use, k.Origin())
	if err != nil {
		return nil, err
	}
	if made.ID != k.ID || made.VKey != k.VKey {
		return nil, FormatInvalid.New("the key's id or verifier key is that of another key")
	}
	return public, k.checkLife()
}

func (k Key) checkLife() error {
	switch k.Status {
	case Next, Active, Retired, Revoked:
	default:
		return FormatInvalid.New("the key has an unknown status")
	}
	for _, n := range []int64{k.FirstSize, k.LastSize, k.TrustedSize} {
		if n < 0 || n > MaxInteger {
			return FormatInvalid.New("the key has an invalid size")
		}
	}
	switch {
	case k.Status != Retired && k.LastSize != 0, k.Status != Revoked && k.TrustedSize != 0:
		return FormatInvalid.New("the key has a size that its status does not allow")
	case k.Status == Retired && k.LastSize < k.FirstSize:
		return FormatInvalid.New("the key was retired before its first size")
	case k.Handover != "" && k.Use != Checkpoint:
		return FormatInvalid.New("only a checkpoint key has a handover")
	default:
		return nil
	}
}

// splitVKey reads a note verifier key and refuses alternative spellings.
func splitVKey(vkey string) (name string, public ed25519.PublicKey, err error) {
	bad := FormatInvalid.New("the text is not a verifier key of an Ed25519 key")
	v, err := note.NewVerifier(vkey)
	if err != nil {
		return "", nil, bad.Because(err)
	}
	parts := strings.SplitN(vkey, "+", 3) // a name has no plus sign, but base64 may
	raw, err := Base64(parts[len(parts)-1])
	if err != nil || len(raw) != 1+ed25519.PublicKeySize {
		return "", nil, bad
	}
	if again, err := note.NewEd25519VerifierKey(v.Name(), raw[1:]); err != nil || again != vkey {
		return "", nil, bad
	}
	return v.Name(), raw[1:], CheckOrigin(v.Name())
}
