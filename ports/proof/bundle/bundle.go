package bundle

import (
	"errors"
	"time"

	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/disclosure"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

const (
	// Version is the value of the member v.
	Version = 1
	// MaxBytes bounds a document.
	MaxBytes = 64 << 30
	// MaxAnchors bounds the anchors of a document.
	MaxAnchors = 4096
	// MaxProof bounds the hashes of a proof: a proof in a tree of the largest size has fewer.
	MaxProof = 128
	// MaxDisclosures bounds the disclosures of an entry: a leaf has no room for more digests.
	MaxDisclosures = leaf.MaxSize / 46
	// MediaType is the media type of a bundle.
	MediaType = "application/vnd.writ.bundle+json"
	// Opening is the beginning of every document.
	Opening = `{"v":1,"origin":`
	// SubjectName is the name of the covered bytes in the statement of the manifest.
	SubjectName = "bundle"
)

const (
	maxNotes      = 8 << 20 // of all anchors together
	maxKeyList    = 1 << 20
	maxManifest   = 64 << 10
	maxDepth      = 8
	maxOpen       = 1 << 20 // of all disclosures of an entry together
	maxLeafText   = 2*leaf.MaxSize + 2
	maxOpenText   = disclosure.MaxSize + 2
	maxNoteText   = 2*checkpoint.MaxNote + 2
	maxShortText  = 256
	maxIntegerLen = 16
)

// The kinds of anchors.
const (
	KindCheckpoint = "checkpoint" // a head that the install signed and stored
	KindHeadFile   = "head_file"
	KindWorker     = "worker"
	KindReceipt    = "receipt"
	KindTimestamp  = "rfc3161"
	KindWitness    = "witness"
	KindPublish    = "publish"
)

// ErrUnknown means that a document is not a bundle of this version; nothing else of it was checked.
var ErrUnknown = errors.New("not a bundle of version 1")

// ErrTooLarge means that a document has more than MaxBytes.
var ErrTooLarge = errors.New("larger than a bundle can be")

// Head holds the members before the entries.
type Head struct {
	Origin      string
	From, To    int64 // sequence numbers of the first and the last entry
	Size        int64 // of the checkpoint's tree
	GeneratedAt time.Time
	Checkpoint  string // the note, byte for byte
	Keys        []keys.Key
	Anchors     []Anchor // ascending by size; sizes may be equal
	// Prev is the hash of the leaf before the first one; it is all zeros and not written if From is one.
	Prev [32]byte
	// First and Last are the inclusion proofs of the first and the last entry. A whole chain has neither.
	First, Last []tree.Hash
	Consistency *Consistency
}

// Anchor is a head that was recorded earlier.
type Anchor struct {
	ID   string
	Kind string
	Size int64
	Note string // byte for byte
}

// Consistency proves that the tree of Size begins with an older one.
type Consistency struct {
	From  int64
	Root  tree.Hash
	Proof []tree.Hash
}

// Entry is a hashed leaf with its disclosed private values, or only the hash of a leaf that its maker withheld.
type Entry struct {
	Leaf        []byte
	Disclosures []string   // encoded
	Hash        *tree.Hash // of the leaf, if that is withheld; else nil
}

// Manifest is the predicate of the statement at the end. It repeats the window, so that the statement can be read
// separately.
type Manifest struct {
	From   int64  `json:"from"`
	Origin string `json:"origin"`
	Size   int64  `json:"size"`
	To     int64  `json:"to"`
	V      int    `json:"v"`
}

// Manifest returns the predicate for the head.
func (h *Head) Manifest() Manifest {
	return Manifest{From: h.From, Origin: h.Origin, Size: h.Size, To: h.To, V: Version}
}

// Whole reports whether the document holds every entry of its tree.
func (h *Head) Whole() bool { return h.From == 1 && h.To == h.Size }

// check checks relations between members.
func (h *Head) check() error {
	if err := keys.CheckOrigin(h.Origin); err != nil {
		return err
	}
	if h.From < 1 || h.To < h.From || h.Size < h.To || h.Size > keys.MaxInteger {
		return keys.FormatInvalid.New("the window is not within the tree")
	}
	if _, err := checkpoint.Parse([]byte(h.Checkpoint)); err != nil {
		return err
	}
	if h.From == 1 && h.Prev != [32]byte{} {
		return keys.FormatInvalid.New("the first entry of the chain has no hash before it")
	}
	if h.Whole() && len(h.First)+len(h.Last) > 0 || len(h.First) > MaxProof || len(h.Last) > MaxProof {
		return keys.FormatInvalid.New("a whole chain has an inclusion proof, or an inclusion proof is too long")
	}
	if c := h.Consistency; c != nil && (c.From < 0 || c.From > h.Size || len(c.Proof) > MaxProof) {
		return keys.FormatInvalid.New("the consistency proof is too long or not from a smaller tree")
	}
	return h.checkAnchors()
}

func (h *Head) checkAnchors() error {
	if len(h.Anchors) > MaxAnchors {
		return keys.FormatInvalid.New("a bundle has at most %d anchors", MaxAnchors)
	}
	notes, last := 0, int64(0)
	for _, a := range h.Anchors {
		if err := a.Check(); err != nil {
			return err
		}
		if notes += len(a.Note); a.Size < last || notes > maxNotes {
			return keys.FormatInvalid.New("the anchors are out of order or too large")
		}
		last = a.Size
	}
	return nil
}

// CheckID checks the form of the id. Fault: keys.FormatInvalid.
func (a Anchor) CheckID() error {
	if !isID(a.ID) {
		return keys.FormatInvalid.New("an anchor has an invalid id")
	}
	return nil
}

// Check checks the forms of the id and the kind, and that the note has this size. Fault: keys.FormatInvalid.
func (a Anchor) Check() error {
	if !isID(a.ID) || !isKind(a.Kind) {
		return keys.FormatInvalid.New("an anchor has an invalid id or kind")
	}
	n, err := checkpoint.Parse([]byte(a.Note))
	if err != nil {
		return err
	}
	if n.Size != a.Size {
		return keys.FormatInvalid.New("an anchor and its note have different sizes")
	}
	return nil
}

func isKind(s string) bool {
	switch s {
	case KindCheckpoint, KindHeadFile, KindWorker, KindReceipt, KindTimestamp, KindWitness, KindPublish:
		return true
	}
	return false
}

// isID accepts one to 64 small letters, digits and underscores.
func isID(s string) bool {
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}
