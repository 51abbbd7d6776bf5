package cli

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
)

// maxDetail is how many cells of a detail are shown.
const maxDetail = 300

func printVerdict(out printer, v proof.Verdict) error {
	if out.json {
		return out.document(v)
	}
	_, err := io.WriteString(out.out, checksOf(newScreen(out.environment), v)+v.Sentence()+"\n")
	return err
}

// printChain prints the verdict over a database.
func printChain(w environment, v audit.ChainVerdict) error {
	text := v.Sentence()
	if v.OK {
		text = fmt.Sprintf("The chain is intact: %s, and heads that were recorded earlier cover %d of them.",
			entries(v.Count), v.Anchored)
	}
	_, err := io.WriteString(w.out, checksOf(newScreen(w), v.Verdict)+text+"\n")
	return err
}

// checksOf writes a line for each check.
func checksOf(s screen, v proof.Verdict) string {
	var b strings.Builder
	for _, c := range v.Checks {
		status := cmp.Or(map[proof.Result]string{proof.Passed: "succeeded", proof.Warned: "rescued"}[c.Result], "failed")
		fmt.Fprintf(&b, "%s %-12s %s\n", s.paint(status, mark(status)), oneLine(c.ID, 20), oneLine(c.Detail, maxDetail))
	}
	for _, p := range v.AnchorProblems {
		fmt.Fprintf(&b, "%s %-12s %s %s of %d entries: %s\n", s.paint("failed", mark("failed")), "anchor",
			oneLine(p.Kind, 20), oneLine(p.ID, 70), p.Size, oneLine(p.Problem, 40))
	}
	for _, text := range v.NotChecked {
		fmt.Fprintf(&b, "%s %-12s %s\n", s.paint("skipped", mark("skipped")), "not checked", oneLine(text, maxDetail))
	}
	return b.String()
}

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return strconv.FormatInt(n, 10) + " entries"
}
