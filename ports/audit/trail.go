package audit

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/proof"
)

// Line is an entry of the trail for display.
type Line struct {
	Seq    int64
	ID     string
	At     time.Time
	Actor  actor.Actor // Name and IP are empty after their erasure
	Agent  string      // the program that made the request, as it named itself; empty without one and after an erasure
	Action Action
	Method string
	// Path is the request's path, empty without a request and after an erasure.
	Path        string
	Object      Object
	Run         string
	Outcome     Outcome
	Text        string
	Details     json.RawMessage // the request without its salt; nil without one and after an erasure
	DetailsHash string
	PrevHash    [32]byte
	Hash        [32]byte
}

// Page is a part of the trail, newest first.
type Page struct {
	Lines      []Line
	HasMore    bool
	NextBefore int64 // 0 on the last page
}

// Limits of a page of the trail.
const (
	DefaultPage = 100
	MaxPage     = 1000
)

// Trail shows what was recorded.
type Trail interface {
	Page(ctx context.Context, f Filter) (Page, error)
	// ReceiptOf returns the receipt of a run's first entry, its submission; ok is false without one.
	ReceiptOf(ctx context.Context, run string) (r Receipt, ok bool, err error)
	// Size returns the number of entries in the chain.
	Size(ctx context.Context) (int64, error)
}

// ChainVerdict is the result of a verification of the install's own chain.
type ChainVerdict struct {
	proof.Verdict
	Head     [32]byte // the newest leaf hash
	Anchored int64    // number of entries under the newest satisfied anchor
}

// Audience decides what of the trail the caller of a context sees.
type Audience interface {
	// Sees reports whether the caller may read what an entry names: an object (kind/id) and a run. Each may be empty.
	Sees(ctx context.Context, object, run string) (bool, error)
}

// BundleQuery selects the part of the chain for a bundle. Zero members match everything.
type BundleQuery struct {
	From, To int64 // sequence numbers, both included
	Limit    int64 // only the newest of the window
	Tiles    bool  // the zip in the layout of tlog-tiles instead of the JSON document
	Private  bool  // with disclosures
	// Audience leaves out the entries that it does not see; nil sees all.
	Audience Audience
}

// Document is a signed document that is ready to be written.
type Document interface {
	// MediaType and Name describe the file.
	MediaType() string
	Name() string
	// WriteTo streams the document. Call it once. After an error the written part fails every verification.
	WriteTo(ctx context.Context, w io.Writer) error
}

// ReceiptQuery selects a receipt of a run.
type ReceiptQuery struct {
	Sparse  bool
	From    *int64 // adds a proof that the chain extends the one of this size
	Private bool   // with disclosures
	// Audience makes the receipt Sparse if it does not see each entry between those of the run; nil sees all.
	Audience Audience
}

// SignedReceipt is a receipt with the id of the key that signed it.
type SignedReceipt struct {
	Body  []byte // application/vnd.writ.receipt+json
	KeyID string // sha256:<hex>
}

// Prover makes verdicts and files that can be checked without the server.
type Prover interface {
	// Verify recomputes the whole chain, compares it with every anchor, and compares every stored disclosure and
	// detail with its leaf. Keys that are trusted in advance have to lead to the signer of the newest head, as in a
	// file.
	Verify(ctx context.Context, t proof.Trust) (ChainVerdict, error)
	// Bundle verifies first: a chain that does not verify is Broken, Unsatisfied or Unbundlable, with the same
	// coordinates as in Verify. An Invalid fault names from, to or limit. The form of tiles cannot leave out entries:
	// if the audience does not see them all, it is a Forbidden fault.
	Bundle(ctx context.Context, q BundleQuery) (Document, error)
	// Receipt makes the receipt of a run. A run without an entry is NotFound; From beyond the chain is Unsatisfied;
	// too many contiguous entries are ReceiptTooLong.
	Receipt(ctx context.Context, run string, q ReceiptQuery) (SignedReceipt, error)
	// Seal returns seal.json.
	Seal(ctx context.Context) ([]byte, error)
}

// Period is a span of time.
type Period struct{ From, To time.Time }

// Reporter makes documents for people.
type Reporter interface {
	// Evidence collects the data of a run as a document with an HTML and a JSON form.
	Evidence(ctx context.Context, run string) (Evidence, error)
	// Change returns the report of a change as HTML. The fault of one that the caller may not read is that of package
	// estate.
	Change(ctx context.Context, change string) ([]byte, error)
	// Register returns the change register of a period as HTML. Without the licence it is an Unlicensed fault.
	Register(ctx context.Context, p Period) ([]byte, error)
}

// Evidence is the dossier of a run in one self-contained file.
type Evidence struct {
	JSON []byte
	HTML []byte
}

// Licence checks which features the install has.
type Licence interface {
	// Require returns an Unlicensed fault that names the feature if the install lacks it.
	Require(ctx context.Context, feature string) error
}

// FeatureRegister is the feature of Reporter.Register.
const FeatureRegister = "change_register"
