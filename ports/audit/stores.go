package audit

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/proof/bundle"
)

// Tip is the end of the chain: how many entries there are and the hash of the last one, all zeros where there is none.
type Tip struct {
	Size int64
	Hash [32]byte
}

// Stored is an entry as the store keeps it. Leaf is what is hashed; Hash and the members below it repeat what the
// leaf says, so that it can be found, and a verifier compares them.
type Stored struct {
	Seq  int64
	Leaf string
	Hash [32]byte

	ID     string
	At     string // as the leaf spells it
	Action string
	Actor  string // sub of the leaf
	Object string // kind/id
	Run    string

	// Disclosures are the encoded private values, and Detail the document whose digest the leaf holds. Both are empty
	// where there is none and once they are erased.
	Disclosures []string
	Detail      string
}

// ChainStore is the chain as it is written. Lock and Append belong to the open unit of work.
type ChainStore interface {
	// Lock returns the tip and holds it until the unit ends, so that units link one after the other. now is the clock
	// that all writers of the chain share, read once the tip is held, in UTC and whole microseconds.
	Lock(ctx context.Context) (tip Tip, now time.Time, err error)
	// Append adds entries behind the tip that the unit holds: Seq goes on from it without a gap. Anything else is an
	// Internal fault.
	Append(ctx context.Context, entries []Stored) error
	// Tip returns the tip without holding it.
	Tip(ctx context.Context) (Tip, error)
	// RunHashes returns the leaf hashes of the entries that belong to a run, ascending: those with this Run, or with the
	// Object run/<id> and any Run. A refusal names the object alone, and so belongs to no run: otherwise anybody could
	// add to one.
	RunHashes(ctx context.Context, run string) ([][32]byte, error)
	// Erase drops the disclosures and the details of these entries. Entries that have none stay as they are, and so do
	// the details of RunFinal, which receipts show, and of AuditErase, which say what was erased: neither tells of a
	// person.
	Erase(ctx context.Context, seqs []int64) error
}

// Filter narrows a page of the trail. Empty members do not narrow.
type Filter struct {
	Before int64 // sequence numbers below this one; 0 begins at the newest
	Limit  int
	Actor  string
	Object string // kind/id
}

// ChainReader is the chain as it is read.
type ChainReader interface {
	// Range calls fn with the entries from..to, both included, ascending and in bounded memory. Sequence numbers that are
	// missing are left out: what is there is told as it is. An error of fn ends it and is returned. fn does not keep its
	// argument. With private set the entries have their Disclosures and Detail.
	Range(ctx context.Context, from, to int64, private bool, fn func(e *Stored) error) error
	// Page returns entries descending, with their private parts, and whether older ones remain.
	Page(ctx context.Context, f Filter) (entries []Stored, more bool, err error)
	// OfRun returns the entries that belong to a run, as RunHashes has them, with their private parts; at most limit.
	OfRun(ctx context.Context, run string, limit int) ([]Stored, error)
	// Count returns how many entries are stored, and the highest sequence number of them; both are 0 for none.
	Count(ctx context.Context) (n, last int64, err error)
}

// TileStore keeps the full tiles of the tree (C2SP tlog-tiles): 256 hashes of 32 bytes of one level. They are derived
// from the chain and may be missing.
type TileStore interface {
	// PutTile keeps a tile; one that is there already stays as it is.
	PutTile(ctx context.Context, level, index int64, hashes []byte) error
	// Tile returns the 8,192 bytes of a tile, nil where it is not kept.
	Tile(ctx context.Context, level, index int64) ([]byte, error)
	// TileCount returns how many tiles of a level are kept, which are those from index 0 on.
	TileCount(ctx context.Context, level int64) (int64, error)
	// DropTiles forgets every tile, for a chain that was rolled back.
	DropTiles(ctx context.Context) error
}

// The kinds of anchors.
const (
	KindCheckpoint = bundle.KindCheckpoint // a head that this install signed and kept
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
	// Note is the signed checkpoint, byte for byte; a witness's cosignature is a line of it.
	Note string
	// Evidence is what was said about the note: the DER of an RFC 3161 token; of a worker's head that the chain did not
	// satisfy when it was shown, how many entries the chain had, as {"size":7}. Empty where the note says all.
	Evidence []byte
	Source   string // who said so: a host, a file or a name; no secret
}

// AnchorFilter narrows anchors. Empty members do not narrow.
type AnchorFilter struct {
	Kind     string
	Epoch    int64
	UpTo     int64 // of sizes up to this one
	Evidence bool  // those with evidence alone
	Limit    int   // as many at most; not one where it is empty
}

// AnchorStore keeps anchors. Writes belong to the open unit of work.
type AnchorStore interface {
	PutAnchor(ctx context.Context, a Anchor) error
	// Anchors calls fn with every anchor, ascending by size and then by id. An error of fn ends it.
	Anchors(ctx context.Context, fn func(a *Anchor) error) error
	// NewestAnchors returns the newest of a kind, descending by size; an empty kind is every kind.
	NewestAnchors(ctx context.Context, kind string, limit int) ([]Anchor, error)
	// FindAnchors returns the newest that a filter lets pass, descending by size and of one size by id.
	FindAnchors(ctx context.Context, f AnchorFilter) ([]Anchor, error)
	// CountAnchors returns how many of each kind there are.
	CountAnchors(ctx context.Context) (map[string]int64, error)
}

// PublicKey is a signing key of the install as others see it.
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
	LastSize int64    // of a closed epoch: what of it remained
	LastRoot [32]byte // of a closed epoch
	Reason   string   // why it began, empty for the first
}

// IdentityStore keeps who the install is: its id, its keys and its epochs. Writes belong to the open unit of work.
type IdentityStore interface {
	// Install returns the install's id, empty where none was given yet, and holds it until the unit ends where one is
	// open.
	Install(ctx context.Context) (string, error)
	SetInstall(ctx context.Context, id string) error
	// Keys returns every key in the order in which they were put first.
	Keys(ctx context.Context) ([]PublicKey, error)
	// PutKey adds a key or changes the one with its KID.
	PutKey(ctx context.Context, k PublicKey) error
	// Epochs returns every epoch, ascending.
	Epochs(ctx context.Context) ([]Epoch, error)
	// PutEpoch adds an epoch or changes the one of its number.
	PutEpoch(ctx context.Context, e Epoch) error
}

// HeadFile keeps the newest checkpoint outside of the database, beside the signing key.
type HeadFile interface {
	// Load returns the note, empty where there is none.
	Load() (string, error)
	// Save replaces the note, durably and whole or not at all.
	Save(note string) error
}

// TimeStamper asks an authority of RFC 3161.
type TimeStamper interface {
	// Stamp returns the DER of the authority's TimeStampResp over the bytes. AnchorFailed says why there is none.
	Stamp(ctx context.Context, data []byte) (response []byte, err error)
	// Name says whom it asks, without a secret.
	Name() string
}

// Witness asks a C2SP tlog-witness.
type Witness interface {
	// Cosign presents a checkpoint with a proof that it extends the tree of size from, and returns the witness's
	// cosignature lines. Where the witness knows another size it says so: known is that size and lines is empty.
	Cosign(ctx context.Context, note string, from int64, proof [][32]byte) (lines string, known int64, err error)
	Name() string
}
