package proof

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Exit codes of verifying commands.
const (
	ExitVerified   = 0
	ExitUnverified = 1
	ExitUsage      = 2 // or unreadable input
	ExitUnpinned   = 3 // intact, but by an unknown signer
)

// ExitCode returns the exit code for a verdict.
func (v Verdict) ExitCode() int {
	switch {
	case !v.OK:
		return ExitUnverified
	case !v.Pinned:
		return ExitUnpinned
	}
	return ExitVerified
}

// Text returns the verdict as text: a line for each check, for each unsatisfied anchor and for each unchecked
// property, and the sentence.
func (v Verdict) Text() string {
	var b strings.Builder
	for _, c := range v.Checks {
		fmt.Fprintf(&b, "%-7s %-12s %s\n", c.Result, c.ID, c.Detail)
	}
	for _, p := range v.AnchorProblems {
		fmt.Fprintf(&b, "%-7s %-12s %s %s of %d entries: %s\n", Failed, "anchor", p.Kind, p.ID, p.Size, p.Problem)
	}
	for _, text := range v.NotChecked {
		fmt.Fprintf(&b, "%-7s %-12s %s\n", "-", "not checked", text)
	}
	return b.String() + v.Sentence() + "\n"
}

// Sentence returns the verdict as one sentence.
func (v Verdict) Sentence() string {
	switch {
	case v.OK && v.Pinned:
		return fmt.Sprintf("Verified: %s of a chain of %d, unchanged since a trusted key signed them.",
			entries(v.Count), v.Size)
	case v.OK:
		return fmt.Sprintf(
			"Intact, but unproven: %s of a chain of %d are consistent. Without a trusted key it is unknown who signed them.",
			entries(v.Count), v.Size)
	}
	text := "Not verified: " + v.Reason.because()
	if len(v.Conflict) == 2 {
		return text +
			": two histories of one log are signed. Keep this file, the pins and the seal: together they are the proof."
	}
	if v.BrokeAt > 0 {
		text += fmt.Sprintf(", at position %d, which claims to be entry %d", v.BrokeAt, v.BrokeSeq)
	}
	return text + "."
}

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return strconv.FormatInt(n, 10) + " entries"
}

func (r Reason) because() string {
	switch r {
	case ChainBreak:
		return "the chain is broken"
	case AnchorUnsatisfied:
		return "the entries are consistent with each other, but not with a head that was recorded earlier"
	case SignatureInvalid:
		return "a signature is invalid or missing"
	case ProofInvalid:
		return "a proof is invalid or missing, or a part of the file does not match what was signed"
	case KeyUntrusted:
		return "it is not signed by a trusted key"
	case KeyRetired:
		return "it is signed by a key that was already retired"
	case FormatInvalid:
		return "the file is not a well-formed bundle or receipt, or it is truncated"
	case Unsigned:
		return "nothing in it is signed"
	case EvidenceDiffers:
		return "the signed receipt is valid, but the document around it says something else"
	default:
		return string(r)
	}
}

// ParseHead reads a head as SIZE:ROOT, a number and the base64 of 32 bytes.
func ParseHead(text string) (Head, error) {
	size, root, _ := strings.Cut(text, ":")
	n, err := strconv.ParseInt(size, 10, 64)
	raw, err64 := base64.StdEncoding.Strict().DecodeString(root)
	if err != nil || n < 0 || err64 != nil || len(raw) != len(Head{}.Root) {
		return Head{}, errors.New("a head is SIZE:ROOT, a number and the base64 of 32 bytes")
	}
	return Head{Size: n, Root: [32]byte(raw)}, nil
}
