package leaf

import (
	"crypto/sha256"
	"time"
)

const (
	// Version is the value of the key v. Other versions are refused.
	Version = 1
	// MaxSize bounds the bytes of a leaf. Larger details are stored elsewhere, and the leaf has their digest.
	MaxSize = 16 << 10
	// MaxInt is the largest integer that every JSON reader represents exactly.
	MaxInt = 1<<53 - 1
)

// The outcomes.
const (
	Applied = "applied"
	Denied  = "denied"
	Failed  = "failed"
)

// Leaf holds the values of a leaf. The empty string and the empty list mean an absent key; Act, At, Out and Seq are
// required, and so is Prev, which is all zeros in the first leaf of a chain. It never contains private text: see SD.
type Leaf struct {
	Act  string   // registered action, such as run.submit
	At   string   // UTC with six fractional digits and a Z: see At
	Det  string   // "sha256:" and the hex digest of the detail document
	ID   string   // the entry's own id
	Met  string   // HTTP method, if a request made the entry
	Obj  string   // kind/id of the object
	Out  string   // Applied, Denied or Failed
	Prev [32]byte // hash of the previous leaf
	Req  string   // request id
	Run  string   // top-level run that the entry belongs to
	SD   []string // digests of the disclosures, ascending and without duplicates
	Seq  int64    // one-based position in the chain
	Sub  string   // opaque id of the actor
}

// layout is the form of Leaf.At.
const layout = "2006-01-02T15:04:05.000000Z"

// At returns t in the format of a leaf, truncated to microseconds.
func At(t time.Time) string { return t.UTC().Format(layout) }

// Time returns the time of the leaf. The text of a leaf that Scan or AppendTo accepted is always valid.
func (l *Leaf) Time() (time.Time, error) {
	if !isAt(l.At) {
		return time.Time{}, &Error{Code: CodeForm, Key: "at"}
	}
	return time.Parse(layout, l.At)
}

// Hash returns the RFC 6962 leaf hash, which is both the link of the chain and the leaf of the tree.
func Hash(leaf []byte) [32]byte { return hash(leaf) }

// HashText returns the Hash of the bytes of a text.
func HashText(leaf string) [32]byte { return hash(leaf) }

func hash[T []byte | string](leaf T) [32]byte {
	var short [1 + 1023]byte
	if len(leaf) < len(short) {
		return sha256.Sum256(short[:1+copy(short[1:], leaf)])
	}
	return sha256.Sum256(append(make([]byte, 1, 1+len(leaf)), leaf...))
}
