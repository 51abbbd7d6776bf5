package audit

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/proof/bundle"
)

// Tip is the end of the chain: the number of entries and the hash of the last one, all zeros for an empty chain.
type Tip struct {
	Size int64
	Hash [32]byte
}

// Stored is a stored entry. Leaf is the hashed text; Hash and the members below repeat values of the leaf for queries,
// and a verifier compares them with the leaf.
type Stored struct {
	Seq  int64
	Leaf string
	Hash [32]byte

	ID     string
	At     string // in the form of the leaf
	Action string
	Actor  string // sub of the leaf
	Object string // kind/id
	Run    string

	// Disclosures are the encoded private values; Detail is the document whose digest the leaf has. Both are empty if
	// there are none or if they were erased.
	Disclosures []string
	Detail      string
}

// ChainStore is the writing side of the chain. Lock and Append belong to the open unit of work.
type ChainStore interface {
	// Lock returns the tip and locks it until the unit ends, so that units link one after the other. now is the shared
	// clock of all writers, read after the lock, in UTC and whole microseconds.
	Lock(ctx context.Context) (tip Tip, now time.Time, err error)
	// Append adds entries after the locked tip: Seq continues without a gap. Anything else is an Internal fault.
	Append(ctx context.Context, entries []Stored) error
	// Tip returns the tip without a lock.
	Tip(ctx context.Context) (Tip, error)
	// RunHashes returns for each run the leaf hashes of the entries that belong to it, ascending: those with this Run,
	// or with the Object run/<id> and any Run. A refusal has only the object and belongs to no run: otherwise any
	// caller could add entries to a run.
	RunHashes(ctx context.Context, runs []string) (map[string][][32]byte, error)
	// Erase deletes the disclosures and the details of these entries. It keeps the details of RunFinal, which receipts
	// show, and of AuditErase, which list the erased entries: neither has personal data.
	Erase(ctx context.Context, seqs []int64) error
}

// Filter narrows a page of the trail. Empty members match everything.
type Filter struct {
	Before int64 // sequence numbers below this one; 0 begins at the newest
	Limit  int
	Actor  string
	Object string // kind/id
}

// ChainReader is the reading side of the chain.
type ChainReader interface {
	// Range calls fn with the entries from..to, both included, ascending and in bounded memory. It skips missing
	// sequence numbers and returns altered entries unchanged. An error of fn ends it and is returned. fn must not keep
	// its argument. With private set the entries have their Disclosures and Detail.
	Range(ctx context.Context, from, to int64, private bool, fn func(e *Stored) error) error
	// Page returns entries descending, with their private parts, and whether older ones remain.
	Page(ctx context.Context, f Filter) (entries []Stored, more bool, err error)
	// OfRun returns at most limit entries that belong to a run, as defined by RunHashes, with their private parts.
	OfRun(ctx context.Context, run string, limit int) ([]Stored, error)
	// Count returns the number of stored entries and their highest sequence number; both are 0 if there are none.
	Count(ctx context.Context) (n, last int64, err error)
}

// TileStore stores the full tiles of the tree (C2SP tlog-tiles): 256 hashes of 32 bytes of one level. They are derived
// from the chain and may be missing.
type TileStore interface {
	// PutTile stores a tile; an existing one is not changed.
	PutTile(ctx context.Context, level, index int64, hashes []byte) error
	// Tile returns the 8,192 bytes of a tile, or nil if it is not stored.
	Tile(ctx context.Context, level, index int64) ([]byte, error)
	// TileCount returns the number of stored tiles of a level that are contiguous from index 0.
	TileCount(ctx context.Context, level int64) (int64, error)
	// DropTiles deletes every tile, for a chain that was rolled back.
	DropTiles(ctx context.Context) error
}

// The kinds of anchors.
const (
	KindCheckpoint = bundle.KindCheckpoint // a head that this install signed and stored
	KindHeadFile   = bundle.KindHeadFile
	KindWorker     = bundle.KindWorker
	KindReceipt    = bundle.KindReceipt
	KindTimestamp  = bundle.KindTimestamp
	KindWitness    = bundle.KindWitness
	KindPublish    = bundle.KindPublish
)

// Anchor is a head that the chain has to satisfy.
type Anchor struct {
	ID     string // anc_...
	Kind   string
	Epoch  int64
	Size   int64
	Root   [32]byte
	MadeAt time.Time
	// Note is the signed checkpoint, byte for byte; a witness's cosignature is one of its lines.
	Note string
	// Evidence proves or explains the note: the DER of an RFC 3161 token; or, for a worker's head that the chain did
	// not satisfy, the number of entries in the chain at that time, as {"size":7}. It is empty if the note suffices.
	Evidence []byte
	Source   string // its origin: a host, a file or a name; not a secret
}

// AnchorFilter narrows anchors. Empty members match everything.
type AnchorFilter struct {
	Kind     string
	Epoch    int64
	UpTo     int64 // only sizes up to this one
	Evidence bool  // only anchors with evidence
	Limit    int   // at most so many; zero returns none
}

// AnchorStore stores anchors. Writes belong to the open unit of work.
type AnchorStore interface {
	PutAnchor(ctx context.Context, a Anchor) error
	// Anchors calls fn with every anchor, ascending by size and then by id. An error of fn ends it.
	Anchors(ctx context.Context, fn func(a *Anchor) error) error
	// NewestAnchors returns the newest of a kind, descending by size; an empty kind matches every kind.
	NewestAnchors(ctx context.Context, kind string, limit int) ([]Anchor, error)
	// FindAnchors returns the newest that match a filter, descending by size and then by id.
	FindAnchors(ctx context.Context, f AnchorFilter) ([]Anchor, error)
	// CountAnchors returns the number of anchors of each kind.
	CountAnchors(ctx context.Context) (map[string]int64, error)
}

// PublicKey is a public signing key of the install.
type PublicKey struct {
	KID         string // sha256:<hex of SubjectPublicKeyInfo>
	Use         string // checkpoint or statement
	Public      []byte // 32 bytes, Ed25519
	Status      string // next, active, retired or revoked
	NotBefore   time.Time
	FirstSize   int64
	LastSize    int64  // of a retired key
	TrustedSize int64  // of a revoked key
	Handover    string // note signed by the key before it and by this one
}

// Epoch is a span of the chain without a rollback.
type Epoch struct {
	N        int64
	Origin   string
	FirstSeq int64 // sequence number of its first entry
	Closed   bool
	LastSize int64    // of a closed epoch: the size that stays valid
	LastRoot [32]byte // of a closed epoch
	Reason   string   // why it began, empty for the first
}

// IdentityStore stores the identity of the install: id, keys and epochs. Writes belong to the open unit of work.
type IdentityStore interface {
	// Install returns the install's id, empty if there is none yet, and in a unit locks it until the unit ends.
	Install(ctx context.Context) (string, error)
	SetInstall(ctx context.Context, id string) error
	// Keys returns every key in the order of the first PutKey.
	Keys(ctx context.Context) ([]PublicKey, error)
	// PutKey adds a key or replaces the one with its KID.
	PutKey(ctx context.Context, k PublicKey) error
	// Epochs returns every epoch, ascending.
	Epochs(ctx context.Context) ([]Epoch, error)
	// PutEpoch adds an epoch or replaces the one with its number.
	PutEpoch(ctx context.Context, e Epoch) error
}

// HeadFile stores the newest checkpoint outside of the database, next to the signing key.
type HeadFile interface {
	// Load returns the note, or "" without one.
	Load() (string, error)
	// Save replaces the note durably and atomically.
	Save(note string) error
}

// TimeStamper is a client of an RFC 3161 authority.
type TimeStamper interface {
	// Stamp returns the DER of the authority's TimeStampResp over the bytes. Every failure is AnchorFailed.
	Stamp(ctx context.Context, data []byte) (response []byte, err error)
	// Name returns the name of the authority, without a secret.
	Name() string
}

// Witness is a client of a C2SP tlog-witness.
type Witness interface {
	// Cosign sends a checkpoint with a proof that it extends the tree of size from, and returns the witness's
	// cosignature lines. If the witness has another size, known is that size and lines is empty.
	Cosign(ctx context.Context, note string, from int64, proof [][32]byte) (lines string, known int64, err error)
	Name() string
}
