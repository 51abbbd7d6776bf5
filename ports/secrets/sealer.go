package secrets

import "context"

// Sealer keeps texts that have to be read again. Each is encrypted under a data key of its own, which is kept beside
// it under the install's key-encryption key; the record's name is bound in, so that what was sealed for one record
// opens for no other one.
type Sealer interface {
	// Seal returns the sealed form, which names the key-encryption key by its id.
	Seal(ctx context.Context, record string, plain []byte) ([]byte, error)
	// Open returns the text. KeyLost where the key-encryption key is not at hand; an Internal fault for anything that
	// was altered or was sealed for another record.
	Open(ctx context.Context, record string, sealed []byte) ([]byte, error)
}

// Rewrapper is a Sealer that can change the key under which something is sealed.
type Rewrapper interface {
	Sealer
	// KeyID returns the id of the key that seals, in hex; empty where no key is at hand.
	KeyID() string
	// Rewrap returns the sealed form under the current key; what the current key sealed comes back as it is. The errors
	// are those of Open and Seal.
	Rewrap(ctx context.Context, record string, sealed []byte) ([]byte, error)
}

// Digester tells equal secrets without telling them: nobody without the key-encryption key can test a guess.
type Digester interface {
	// Digest returns a digest of a text for one purpose, 32 bytes. It is the same wherever the same key seals, and
	// another one under another key. KeyLost.
	Digest(ctx context.Context, purpose string, text []byte) ([]byte, error)
}

// Sealed is something that a store holds sealed.
type Sealed struct {
	Key    string // within its holder; holders list by it in order
	Record string // for which it is sealed
	Text   []byte
}

// SealedStore is a table in which something rests sealed. All holders together are what has to be wrapped anew under
// another key.
type SealedStore interface {
	// Name names what is held, in the plural: "credentials".
	Name() string
	// ListSealed returns at most limit of what is held whose key comes after the given one, by key.
	ListSealed(ctx context.Context, after string, limit int) ([]Sealed, error)
	// Reseal replaces a sealed text where it is still the one that was listed, and reports whether it was. It joins the
	// unit of ctx and counts as no change of the record.
	Reseal(ctx context.Context, was Sealed, text []byte) (bool, error)
}
