package keys

import (
	"crypto/ed25519"

	"golang.org/x/mod/sumdb/note"
)

// maxKeys bounds a ring and the keys of seal.json; monthly rotation reaches it in ten years.
const maxKeys = 128

// Ring is a set of trusted keys. Verification against a ring uses these keys, their algorithms and their sizes and
// nothing from the verified file. The zero value trusts no key.
type Ring struct{ entries []entry }

type entry struct {
	key    Key
	public ed25519.PublicKey
	verify note.Verifier // of a checkpoint key
}

// NewRing makes a ring of trusted keys. Fault: FormatInvalid for a key whose parts disagree, for a key that is listed
// twice under one origin and for two keys that a note could not distinguish.
func NewRing(list ...Key) (Ring, error) {
	if len(list) > maxKeys {
		return Ring{}, FormatInvalid.New("a ring has at most %d keys", maxKeys)
	}
	r := Ring{entries: make([]entry, 0, len(list))}
	for _, k := range list {
		public, err := k.check()
		if err != nil {
			return Ring{}, err
		}
		e := entry{key: k, public: public}
		if k.Use == Checkpoint {
			if e.verify, err = note.NewVerifier(k.VKey); err != nil {
				return Ring{}, FormatInvalid.New("the verifier key cannot be read").Because(err)
			}
		}
		for _, have := range r.entries {
			if clash(have, e) {
				return Ring{}, FormatInvalid.New("the keys %s and %s cannot be in one ring", have.key.ID, k.ID)
			}
		}
		r.entries = append(r.entries, e)
	}
	return r, nil
}

// clash reports entries that are one key twice, one key for two uses, or two keys with one name and hash in notes.
func clash(a, b entry) bool {
	if a.key.ID == b.key.ID && (a.key.Use != b.key.Use || a.key.VKey == b.key.VKey) {
		return true
	}
	return a.verify != nil && b.verify != nil && a.verify.Name() == b.verify.Name() &&
		a.verify.KeyHash() == b.verify.KeyHash()
}

// Keys returns the keys of the ring in their order.
func (r Ring) Keys() []Key {
	out := make([]Key, 0, len(r.entries))
	for _, e := range r.entries {
		out = append(out, e.key)
	}
	return out
}

// Has reports whether the ring trusts the key of this id for this use.
func (r Ring) Has(id string, use Use) bool {
	for _, e := range r.entries {
		if e.key.ID == id && e.key.Use == use {
			return true
		}
	}
	return false
}

// Statement returns the statement key of this id.
func (r Ring) Statement(id string) (Key, bool) {
	for _, e := range r.entries {
		if e.key.ID == id && e.key.Use == Statement {
			return e.key, true
		}
	}
	return Key{}, false
}

// Named returns the checkpoint key with this name and hash in notes.
func (r Ring) Named(name string, hash uint32) (Key, bool) {
	for _, e := range r.entries {
		if e.verify != nil && e.verify.Name() == name && e.verify.KeyHash() == hash {
			return e.key, true
		}
	}
	return Key{}, false
}

// Verifiers returns the verifiers for notes of this origin.
func (r Ring) Verifiers(origin string) []note.Verifier {
	var out []note.Verifier
	for _, e := range r.entries {
		if e.verify != nil && e.verify.Name() == origin {
			out = append(out, e.verify)
		}
	}
	return out
}

// Verify checks a signature by the statement key of this id with the algorithm of that key. Faults: KeyUntrusted,
// SignatureInvalid.
func (r Ring) Verify(id string, msg, sig []byte) error {
	for _, e := range r.entries {
		if e.key.ID != id || e.key.Use != Statement {
			continue
		}
		if !ed25519.Verify(e.public, msg, sig) {
			return SignatureInvalid.New("the signature does not verify with key %s", id)
		}
		return nil
	}
	return KeyUntrusted.New("key %s is not trusted for statements", id)
}
