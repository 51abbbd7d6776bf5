package receipt

import (
	"encoding/json"
	"errors"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/disclosure"
	"github.com/writ-automation/writ/ports/proof/dsse"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

const (
	// Version is the value of the member v.
	Version = 1
	// MaxBytes bounds a file.
	MaxBytes = 64 << 20
	// MaxEntries bounds the entries of a receipt.
	MaxEntries = 10_000
	// MaxAnchors bounds the anchors of a receipt.
	MaxAnchors = 256
	// MediaType is the media type of a receipt.
	MediaType = "application/vnd.writ.receipt+json"
	// RunFinal is the action of the entry that ends a run.
	RunFinal = "run.final"
	// Opening is the beginning of every receipt.
	Opening = `{"payload":"`

	maxRun      = 1 << 20
	maxScope    = 1024
	maxOpen     = 1 << 20 // of all disclosures of an entry together
	maxEvidence = 8 << 20 // of all notes and tokens of anchors together
)

// ErrUnknown means that a document is not a receipt; nothing else of it was checked.
var ErrUnknown = errors.New("not a receipt")

// ErrTooLarge means that a document has more than MaxBytes.
var ErrTooLarge = errors.New("larger than a receipt can be")

// Mode selects the entries of a receipt.
type Mode string

// The modes.
const (
	Contiguous Mode = "contiguous" // every entry of the chain from the run's first to its last
	Sparse     Mode = "sparse"     // only the run's own entries
)

// Scope returns a sentence about what a receipt of the mode proves.
func (m Mode) Scope() string {
	if m == Sparse {
		return "Each entry has an inclusion proof. That no other entry belongs to the run is asserted by the signer. It is " +
			"also asserted by the last entry of the run, if that entry counts the entries before it."
	}
	return "Every entry of the log from the run's first to its last one. That no entry outside of this range belongs to " +
		"the run is asserted by the signer."
}

// Receipt is the content of the predicate.
type Receipt struct {
	Origin      string
	Mode        Mode
	Scope       string
	Run         json.RawMessage // canonical: the digest of the run's results
	Checkpoint  string          // the note, byte for byte
	Keys        []keys.Key
	Entries     []Entry
	Consistency *Consistency
	Anchors     []Anchor // ascending by size; sizes may be equal
}

// Entry is a hashed leaf. Proven means that it has a proof, which is empty in a tree of one leaf.
type Entry struct {
	Index       int64 // from zero
	Leaf        string
	Disclosures []string // encoded
	Proven      bool
	Proof       []tree.Hash
}

// Consistency proves that the checkpoint's tree begins with an older one, whose root the reader knows.
type Consistency struct {
	From  int64
	Proof []tree.Hash
}

// Anchor is a head that was recorded earlier, with the proof that the checkpoint's tree extends it.
type Anchor struct {
	ID    string
	Kind  string
	Size  int64
	Note  string // byte for byte
	Proof []tree.Hash
	Token []byte // the DER of the TimeStampResp, only of the kind rfc3161
}

// Sign makes the file of a receipt. The subject's digest is that of Run. Faults: FormatInvalid for a receipt that
// readers would refuse, and those of dsse.Sign.
func Sign(r Receipt, signer keys.Signer) ([]byte, error) {
	w, err := r.wire()
	if err != nil {
		return nil, err
	}
	run, err := ParseRun(r.Run)
	if err != nil {
		return nil, err
	}
	s, err := dsse.NewStatement(dsse.ReceiptV1, w, dsse.Subject{Name: run.ID, SHA256: run.Sum})
	if err != nil {
		return nil, err
	}
	if _, err := fromStatement(s); err != nil {
		return nil, err
	}
	return dsse.SignStatement(s, signer)
}

// Document is a well-formed file. Nothing of it is verified.
type Document struct {
	Receipt
	Digest   Run
	Subject  dsse.Subject
	Envelope dsse.Envelope
}

// Parse reads a file. Errors: ErrUnknown, ErrTooLarge, and keys.FormatInvalid for everything that Sign would not
// write.
func Parse(data []byte) (Document, error) {
	if len(data) > MaxBytes {
		return Document{}, ErrTooLarge
	}
	if len(data) < len(Opening) || string(data[:len(Opening)]) != Opening {
		return Document{}, ErrUnknown
	}
	e, err := dsse.Parse(data, dsse.StatementType)
	if err != nil {
		return Document{}, err
	}
	if len(e.Signatures) != 1 {
		return Document{}, keys.FormatInvalid.New("a receipt has exactly one signature")
	}
	s, err := dsse.ParseStatement(e.Payload)
	if err != nil {
		return Document{}, err
	}
	d, err := fromStatement(s)
	d.Envelope = e
	return d, err
}

func fromStatement(s dsse.Statement) (Document, error) {
	if s.PredicateType != dsse.ReceiptV1 || len(s.Subjects) != 1 {
		return Document{}, keys.FormatInvalid.New("the statement is not of the type %s, or does not have exactly one subject",
			dsse.ReceiptV1)
	}
	var w wire
	if err := keys.Decode(s.Predicate, &w); err != nil {
		return Document{}, err
	}
	r, err := w.receipt()
	if err != nil {
		return Document{}, err
	}
	run, err := ParseRun(r.Run)
	if err != nil {
		return Document{}, err
	}
	return Document{Receipt: r, Digest: run, Subject: s.Subjects[0]}, r.check()
}

// check checks relations between members.
func (r *Receipt) check() error {
	if err := keys.CheckOrigin(r.Origin); err != nil {
		return err
	}
	if r.Mode != Contiguous && r.Mode != Sparse {
		return keys.FormatInvalid.New("the mode is contiguous or sparse")
	}
	if r.Scope == "" || len(r.Scope) > maxScope {
		return keys.FormatInvalid.New("the scope has 1 to %d bytes", maxScope)
	}
	if c := r.Consistency; c != nil && (c.From < 0 || c.From > keys.MaxInteger) {
		return keys.FormatInvalid.New("the consistency proof has an invalid size")
	}
	if err := r.checkAnchors(); err != nil {
		return err
	}
	return r.checkEntries()
}

func (r *Receipt) checkEntries() error {
	if len(r.Entries) == 0 || len(r.Entries) > MaxEntries {
		return keys.FormatInvalid.New("a receipt has 1 to %d entries", MaxEntries)
	}
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Index < 0 || e.Index >= keys.MaxInteger || len(e.Leaf) > leaf.MaxSize ||
			len(e.Disclosures) > bundle.MaxDisclosures {
			return keys.FormatInvalid.New("the entry at position %d has an invalid index or is too large", i+1)
		}
		open := 0
		for _, d := range e.Disclosures {
			if open += len(d); len(d) > disclosure.MaxSize || open > maxOpen {
				return keys.FormatInvalid.New("the disclosures at position %d are too large", i+1)
			}
		}
		if due := r.Mode == Sparse || i == 0 || i == len(r.Entries)-1; due != e.Proven {
			return keys.FormatInvalid.New("the entry at position %d lacks a required proof, or has one that is not allowed", i+1)
		}
	}
	return nil
}

func (r *Receipt) checkAnchors() error {
	if len(r.Anchors) > MaxAnchors {
		return keys.FormatInvalid.New("a receipt has at most %d anchors", MaxAnchors)
	}
	total, last := 0, int64(0)
	for _, a := range r.Anchors {
		if err := (bundle.Anchor{ID: a.ID, Kind: a.Kind, Size: a.Size, Note: a.Note}).Check(); err != nil {
			return err
		}
		if total += len(a.Note) + len(a.Token); a.Size < last || total > maxEvidence {
			return keys.FormatInvalid.New("the anchors are out of order or too large")
		}
		if (a.Kind == bundle.KindTimestamp) != (len(a.Token) > 0) {
			return keys.FormatInvalid.New("an anchor has a token if and only if its kind is %s", bundle.KindTimestamp)
		}
		last = a.Size
	}
	return nil
}
