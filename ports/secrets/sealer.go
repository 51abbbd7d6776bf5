package secrets

import "context"

// Sealer encrypts texts that have to be read again. Each text is encrypted under a data key of its own, which is
// stored with it under the install's key-encryption key. The record's name is bound in, so that a text that was
// sealed for one record opens for no other one.
type Sealer interface {
	// Seal returns the sealed form, which names the key-encryption key by its id.
	Seal(ctx context.Context, record string, plain []byte) ([]byte, error)
	// Open returns the text. Errors: KeyLost if the key-encryption key is not available; an Internal fault for a text
	// that was altered or sealed for another record.
	Open(ctx context.Context, record string, sealed []byte) ([]byte, error)
}

// Rewrapper is a Sealer that can change the key under which a text is sealed.
type Rewrapper interface {
	Sealer
	// KeyID returns the id of the sealing key in hex, empty if no key is available.
	KeyID() string
	// Rewrap returns the sealed form under the current key. A text that the current key sealed is returned unchanged.
	// The errors are those of Open and Seal.
	Rewrap(ctx context.Context, record string, sealed []byte) ([]byte, error)
}

// Digester makes digests by which equal secrets are recognized. Without the key-encryption key a guess cannot be
// tested.
type Digester interface {
	// Digest returns the 32 bytes of a digest of a text for one purpose. It is the same under the same key, and
	// differs under another key. Errors: KeyLost.
	Digest(ctx context.Context, purpose string, text []byte) ([]byte, error)
}

// Sealed is a sealed text in a store.
type Sealed struct {
	Key    string // within its store; lists are sorted by it
	Record string // for which it is sealed
	Text   []byte
}

// SealedStore is a table with sealed texts. A new key has to rewrap the texts of all of them.
type SealedStore interface {
	// Name is the noun for the sealed texts, in the plural: "credentials".
	Name() string
	// ListSealed returns at most limit sealed texts with keys after the given one, by key.
	ListSealed(ctx context.Context, after string, limit int) ([]Sealed, error)
	// Reseal replaces a sealed text if it is still the listed one, and reports whether it was. It joins the unit of
	// ctx and does not count as a change of the record.
	Reseal(ctx context.Context, was Sealed, text []byte) (bool, error)
}
