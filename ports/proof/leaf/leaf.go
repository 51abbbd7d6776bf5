package leaf

import (
	"crypto/sha256"
	"time"
)

const (
	// Version is the value of the key v. A leaf of another version is refused.
	Version = 1
	// MaxSize is how many bytes a leaf may have. Larger detail lives elsewhere and is referred to by its digest.
	MaxSize = 16 << 10
	// MaxInt is the largest integer that every reader of JSON agrees on.
	MaxInt = 1<<53 - 1
)

// The outcomes.
const (
	Applied = "applied"
	Denied  = "denied"
	Failed  = "failed"
)

// Leaf holds the values of a leaf. The empty string and the empty list stand for an absent key; Act, At, Out and Seq
// are always there, as is Prev, which is all zeros in the first leaf of a chain. It never holds private text: see SD.
type Leaf struct {
	Act  string   // registered action, such as run.submit
	At   string   // UTC with six fractional digits and a Z: see At
	Det  string   // "sha256:" and the hex digest of the detail document
	ID   string   // the entry's own id
	Met  string   // HTTP method, where a request made the entry
	Obj  string   // kind/id of the object
	Out  string   // Applied, Denied or Failed
	Prev [32]byte // hash of the leaf before
	Req  string   // request id
	Run  string   // top-level run that the entry belongs to
	SD   []string // digests of the disclosures, ascending and each once
	Seq  int64    // one-based position in the chain
	Sub  string   // opaque id of who acted
}

// layout is the form of Leaf.At.
const layout = "2006-01-02T15:04:05.000000Z"

// At returns t as a leaf spells it. What is finer than a microsecond is cut off.
func At(t time.Time) string { return t.UTC().Format(layout) }

// Time returns when the leaf says it was made. The text of a leaf that Scan or AppendTo accepted is always a time.
func (l *Leaf) Time() (time.Time, error) {
	if !isAt(l.At) {
		return time.Time{}, &Error{Code: CodeForm, Key: "at"}
	}
	return time.Parse(layout, l.At)
}

// Hash returns the RFC 6962 leaf hash, which is the link of the chain and the leaf of the tree in one.
func Hash(leaf []byte) [32]byte { return hash(leaf) }

// HashText is Hash of the bytes of a text.
func HashText(leaf string) [32]byte { return hash(leaf) }

func hash[T []byte | string](leaf T) [32]byte {
	var short [1 + 1023]byte
	if len(leaf) < len(short) {
		return sha256.Sum256(short[:1+copy(short[1:], leaf)])
	}
	return sha256.Sum256(append(make([]byte, 1, 1+len(leaf)), leaf...))
}
