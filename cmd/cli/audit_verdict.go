package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
)

// maxDetail is how many cells of a detail are shown.
const maxDetail = 300

func printVerdict(w world, v proof.Verdict, asJSON bool) error {
	if asJSON {
		return printJSON(w.out, v)
	}
	_, err := io.WriteString(w.out, checksOf(newScreen(w), v)+sentence(v)+"\n")
	return err
}

// printChain prints the verdict over a database.
func printChain(w world, v audit.ChainVerdict) error {
	text := sentence(v.Verdict)
	if v.OK {
		text = fmt.Sprintf("The chain holds: %s, and heads that were seen before cover %d of them.", entries(v.Count), v.Anchored)
	}
	_, err := io.WriteString(w.out, checksOf(newScreen(w), v.Verdict)+text+"\n")
	return err
}

// checksOf writes a line for each check.
func checksOf(s screen, v proof.Verdict) string {
	var b strings.Builder
	for _, c := range v.Checks {
		status := map[proof.Result]string{proof.Passed: "succeeded", proof.Warned: "rescued"}[c.Result]
		if status == "" {
			status = "failed"
		}
		fmt.Fprintf(&b, "%s %-12s %s\n", s.paint(status, mark(status)), oneLine(c.ID, 20), oneLine(c.Detail, maxDetail))
	}
	for _, p := range v.AnchorProblems {
		fmt.Fprintf(&b, "%s %-12s %s %s of %d entries: %s\n", s.paint("failed", mark("failed")), "anchor", oneLine(p.Kind, 20), oneLine(p.ID, 70), p.Size, oneLine(p.Problem, 40))
	}
	for _, text := range v.NotChecked {
		fmt.Fprintf(&b, "%s %-12s %s\n", s.paint("skipped", mark("skipped")), "not checked", oneLine(text, maxDetail))
	}
	return b.String()
}

// sentence says a verdict so that it can be read aloud.
func sentence(v proof.Verdict) string {
	switch {
	case v.OK && v.Pinned:
		return fmt.Sprintf("Verified: %s of a chain of %d, unchanged since the key that you gave signed them.", entries(v.Count), v.Size)
	case v.OK:
		return fmt.Sprintf("Intact, but unproven: %s of a chain of %d agree with each other, and no key was given that says whose they are.", entries(v.Count), v.Size)
	}
	text := "Not verified: " + because(v.Reason)
	if len(v.Conflict) == 2 {
		return text + ": two histories are signed with one name. Keep this file, the pins and the seal: together they are the proof."
	}
	if v.BrokeAt > 0 {
		text += fmt.Sprintf(", at place %d, which claims to be entry %d", v.BrokeAt, v.BrokeSeq)
	}
	return text + "."
}

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return strconv.FormatInt(n, 10) + " entries"
}

func because(r proof.Reason) string {
	switch r {
	case proof.ChainBreak:
		return "the chain is broken"
	case proof.AnchorUnsatisfied:
		return "the entries agree with each other, but not with a head that was seen before"
	case proof.SignatureInvalid:
		return "a signature does not fit"
	case proof.ProofInvalid:
		return "what the file says of itself is not shown by it"
	case proof.KeyUntrusted:
		return "it is not signed by a key that is trusted"
	case proof.KeyRetired:
		return "it is signed by a key that was retired before"
	case proof.FormatInvalid:
		return "the file is not in the form of a bundle, or is cut off"
	default:
		return oneLine(string(r), 40)
	}
}
