package audit

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/proof"
)

// Line is an entry as the trail shows it.
type Line struct {
	Seq    int64
	ID     string
	At     time.Time
	Actor  actor.Actor // Name and IP are empty once they are erased
	Action Action
	Method string
	// Path is the request's path, empty for what no request made and once it is erased.
	Path        string
	Object      Object
	Run         string
	Outcome     Outcome
	Text        string
	Details     json.RawMessage // the document of what was asked, without its salt; nil where there is none and once it is erased
	DetailsHash string
	PrevHash    [32]byte
	Hash        [32]byte
}

// Page is a stretch of the trail, newest first.
type Page struct {
	Lines      []Line
	HasMore    bool
	NextBefore int64 // 0 without more
}

// Limits of a page of the trail.
const (
	DefaultPage = 100
	MaxPage     = 1000
)

// Trail shows what was recorded.
type Trail interface {
	Page(ctx context.Context, f Filter) (Page, error)
	// ReceiptOf returns the receipt of a run's first entry, its submission; ok is false where there is none.
	ReceiptOf(ctx context.Context, run string) (r Receipt, ok bool, err error)
	// Size returns how many entries the chain has.
	Size(ctx context.Context) (int64, error)
}

// ChainVerdict is what a verification of the install's own chain found.
type ChainVerdict struct {
	proof.Verdict
	Head     [32]byte // the newest leaf hash
	Anchored int64    // entries that the newest satisfied anchor covers
}

// BundleQuery says what of the chain goes into a bundle. Zero members do not narrow.
type BundleQuery struct {
	From, To int64 // sequence numbers, both included
	Limit    int64 // keeps the newest of the window
	Tiles    bool  // the zip in the layout of tlog-tiles instead of the JSON document
	Private  bool  // with disclosures
}

// Document is something signed that is ready to be written.
type Document interface {
	// MediaType and Name are those of the file.
	MediaType() string
	Name() string
	// WriteTo streams it. It may be called once. An error in the middle leaves a file that no verifier accepts.
	WriteTo(ctx context.Context, w io.Writer) error
}

// ReceiptQuery says which receipt of a run is asked for.
type ReceiptQuery struct {
	Sparse  bool
	From    *int64 // adds a proof that the chain only grew since this size
	Private bool   // with disclosures
}

// SignedReceipt is a receipt with the id of the key that signed it.
type SignedReceipt struct {
	Body  []byte // application/vnd.writ.receipt+json
	KeyID string // sha256:<hex>
}

// Prover makes what can be checked without the server.
type Prover interface {
	// Verify recomputes the whole chain, asks every anchor, and holds every disclosure and detail that is stored to its
	// leaf. What is trusted beforehand has to lead to who signed the newest head, as in a file.
	Verify(ctx context.Context, t proof.Trust) (ChainVerdict, error)
	// Bundle verifies first: Broken, Unsatisfied or Unbundlable for a chain of which there is none, with the same
	// coordinates as Verify. Invalid faults name from, to or limit.
	Bundle(ctx context.Context, q BundleQuery) (Document, error)
	// Receipt makes the receipt of a run. A run without an entry is NotFound; From beyond the chain is Unsatisfied;
	// ReceiptTooLong where the contiguous entries are too many.
	Receipt(ctx context.Context, run string, q ReceiptQuery) (SignedReceipt, error)
	// Seal returns seal.json.
	Seal(ctx context.Context) ([]byte, error)
}

// Period is a span of time.
type Period struct{ From, To time.Time }

// Reporter makes documents for people.
type Reporter interface {
	// Evidence collects what is known of a run, as a document with an HTML and a JSON form.
	Evidence(ctx context.Context, run string) (Evidence, error)
	// Register is the change register of a period as HTML. Without the licence it is an Unlicensed fault.
	Register(ctx context.Context, p Period) ([]byte, error)
}

// Evidence is the dossier of a run: one file that needs nothing else.
type Evidence struct {
	JSON []byte
	HTML []byte
}

// Licence tells which features the install has.
type Licence interface {
	// Require returns an Unlicensed fault that names the feature, where the install has it not.
	Require(ctx context.Context, feature string) error
}

// FeatureRegister is the feature of Reporter.Register.
const FeatureRegister = "change_register"
