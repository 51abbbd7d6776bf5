package proof

// Reason says why something does not verify; the empty reason is that of what does.
type Reason string

// The reasons. The first three are those of a chain, the others those of a file.
const (
	ChainBreak        Reason = "chain_break"        // an entry does not recompute
	AnchorUnsatisfied Reason = "anchor_unsatisfied" // every entry recomputes, but not to a head that was seen before
	ChainUnbundlable  Reason = "chain_unbundlable"  // the chain verifies and no bundle can be formed over it
	SignatureInvalid  Reason = "signature_invalid"
	ProofInvalid      Reason = "proof_invalid"
	KeyUntrusted      Reason = "key_untrusted"
	KeyRetired        Reason = "key_retired"
	FormatInvalid     Reason = "format_invalid"
)

// Result is how one check ended.
type Result string

// The results of a check.
const (
	Passed Result = "passed"
	Failed Result = "failed"
	Warned Result = "warned"
)

// Check is one step of a verification, with what it found in words.
type Check struct {
	ID     string `json:"id"`
	Result Result `json:"result"`
	Detail string `json:"detail,omitempty"`
}

// AnchorProblem is an anchor that the chain does not satisfy. The head that a file itself is signed with has the kind
// checkpoint, the one that a reader demands the kind from, and those that it knew beforehand the kinds pin and seal.
type AnchorProblem struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Size    int64  `json:"size"`
	Problem string `json:"problem"` // tail_missing, root_mismatch, signature_invalid or time_conflict
}

// Verdict is what a verification found: the same form from a store, a bundle and a receipt. BrokeAt is the one-based
// place of the first bad entry in the order of reading and BrokeSeq the sequence number that it claims; both are zero
// where none can be read.
type Verdict struct {
	OK             bool            `json:"ok"`
	Pinned         bool            `json:"pinned"` // the checkpoint is signed by a key that was known before the file was read
	Reason         Reason          `json:"reason,omitempty"`
	BrokeAt        int64           `json:"broke_at,omitempty"`
	BrokeSeq       int64           `json:"broke_seq,omitempty"`
	Count          int64           `json:"count"`
	Size           int64           `json:"size"` // of the tree that the checkpoint speaks of
	Root           [32]byte        `json:"-"`    // of that tree
	Note           string          `json:"-"`    // the checkpoint, byte for byte
	Origin         string          `json:"origin,omitempty"`
	SignedBy       []string        `json:"signed_by,omitempty"` // ids of the keys that signed checkpoint and statement
	AnchorProblems []AnchorProblem `json:"anchor_problems"`
	Checks         []Check         `json:"checks"`
	NotChecked     []string        `json:"not_checked"` // what no such file can show, in words
	// Conflict is the head that was known beforehand and that of the file, as notes, where the file's history is another
	// one: proof against whoever holds the key. Of a known head whose note was not kept it has the three lines that are
	// signed.
	Conflict []string `json:"conflict,omitempty"`
}

// Trust is what a verifier takes for granted. Without a key a file is checked against the keys that it brings along,
// and the verdict is not pinned. Of several VKeys one is enough; of VKeys, Seal and Known each that knows the log has
// to agree.
type Trust struct {
	VKeys []string // note verifier keys (C2SP signed-note) that checkpoints may be signed with
	// Seal is a seal.json that was kept from before: the keys in it, and those that they hand over to, are trusted.
	Seal []byte
	// Known is a known_logs file: what Pin remembered of logs that were met before. A log that is not in it is met for the
	// first time, and its verdict not pinned. An empty one knows none; nil is not asked for.
	Known []byte
	// TSARoots are certificates as PEM that time-stamp tokens have to lead to, and Witnesses verifier keys of C2SP
	// witnesses. What leads to none of them is not checked, and never met.
	TSARoots  []byte
	Witnesses []string
	// From demands that the chain continues this head; nil demands nothing.
	From *Head
}

// Head is a state of the chain: how many entries there are and the root of the tree over them (RFC 6962).
type Head struct {
	Size int64
	Root [32]byte
}
