package proof

// Reason names why verification failed; it is empty on success.
type Reason string

// The reasons. The first three are those of a chain, the others those of a file.
const (
	ChainBreak        Reason = "chain_break"        // an entry does not recompute
	AnchorUnsatisfied Reason = "anchor_unsatisfied" // every entry recomputes, but not to a head that was recorded earlier
	ChainUnbundlable  Reason = "chain_unbundlable"  // the chain is intact, but no bundle of it can be made
	SignatureInvalid  Reason = "signature_invalid"
	ProofInvalid      Reason = "proof_invalid"
	KeyUntrusted      Reason = "key_untrusted"
	KeyRetired        Reason = "key_retired"
	FormatInvalid     Reason = "format_invalid"
	Unsigned          Reason = "unsigned"         // evidence without a receipt
	EvidenceDiffers   Reason = "evidence_differs" // evidence that does not agree with its receipt, which is valid
)

// Result is the result of one check.
type Result string

// The results of a check.
const (
	Passed Result = "passed"
	Failed Result = "failed"
	Warned Result = "warned"
)

// Check is one step of a verification, with its findings in words.
type Check struct {
	ID     string `json:"id"`
	Result Result `json:"result"`
	Detail string `json:"detail,omitempty"`
}

// AnchorProblem is an anchor that the chain does not satisfy. The file's own signed head has the kind checkpoint, a
// demanded head the kind from, and heads that were known in advance the kinds pin and seal.
type AnchorProblem struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Size    int64  `json:"size"`
	Problem string `json:"problem"` // tail_missing, root_mismatch, signature_invalid or time_conflict
}

// Verdict is the result of a verification, in the same form for a store, a bundle and a receipt. BrokeAt is the
// one-based place of the first bad entry in the order of reading and BrokeSeq the sequence number in that entry; both
// are zero if there is none.
type Verdict struct {
	OK             bool            `json:"ok"`
	Pinned         bool            `json:"pinned"` // the key of the checkpoint was known before the file was read
	Reason         Reason          `json:"reason,omitempty"`
	BrokeAt        int64           `json:"broke_at,omitempty"`
	BrokeSeq       int64           `json:"broke_seq,omitempty"`
	Count          int64           `json:"count"`
	Size           int64           `json:"size"` // of the checkpoint's tree
	Root           [32]byte        `json:"-"`    // of that tree
	Note           string          `json:"-"`    // the checkpoint, byte for byte
	Origin         string          `json:"origin,omitempty"`
	SignedBy       []string        `json:"signed_by,omitempty"` // ids of the keys that signed checkpoint and statement
	AnchorProblems []AnchorProblem `json:"anchor_problems"`
	Checks         []Check         `json:"checks"`
	NotChecked     []string        `json:"not_checked"` // what such a file cannot prove, in words
	// Conflict holds the head that was known in advance and that of the file, as notes, if the file has another
	// history: this proves misbehaviour of the key's owner. If the known head's note was not stored, it is only the
	// three signed lines.
	Conflict []string `json:"conflict,omitempty"`
}

// Trust is the trusted input of a verifier. Without a key a file is checked against the keys that it contains, and the
// verdict is not pinned. One of several VKeys is enough; of VKeys, Seal and Known each that knows the log has to
// agree.
type Trust struct {
	VKeys []string // note verifier keys (C2SP signed-note) that checkpoints may be signed with
	// Seal is a seal.json that was stored earlier: its keys, and those that they hand over to, are trusted.
	Seal []byte
	// Known is a known_logs file: the output of Pin for logs that were met before. A log that is not in it is met for
	// the first time, and its verdict is not pinned. An empty file knows none; nil disables the check.
	Known []byte
	// TSARoots are the PEM certificates of trusted time-stamp roots, and Witnesses the verifier keys of trusted C2SP
	// witnesses. Signatures of others are not checked and never count as satisfied.
	TSARoots  []byte
	Witnesses []string
	// From demands that the chain extends this head; nil demands nothing.
	From *Head
}

// Head is a state of the chain: the number of entries and the root of the tree over them (RFC 6962).
type Head struct {
	Size int64
	Root [32]byte
}
