package manifest

import (
	"fmt"

	"github.com/writ-automation/writ/ports/linediff"
)

// Limits of a diff: the number of context lines, and the number of lines in total.
const (
	around       = 2
	maxDiffLines = 200
	lineWidth    = 400 // characters
)

// diff compares two texts by lines, and drops lines that are far from any difference.
func diff(a, b []string) []string {
	lines := linediff.Compare(a, b)
	near := linediff.Near(lines, around)
	var out []string
	for i, l := range lines {
		if !near[i] {
			continue
		}
		if i > 0 && !near[i-1] && len(out) > 0 {
			out = append(out, "  ...")
		}
		if len(out) >= maxDiffLines {
			return append(out, fmt.Sprintf("  ... and more: %d lines are there, %d will be", count(lines, '+'),
				count(lines, '-')))
		}
		text := l.Text
		if r := []rune(text); len(r) > lineWidth {
			text = string(r[:lineWidth]) + "..."
		}
		out = append(out, string(l.Sign)+" "+text)
	}
	return out
}

// count counts the lines of one side: all except those with the given sign.
func count(lines []linediff.Line, without byte) int {
	n := 0
	for _, l := range lines {
		if l.Sign != without {
			n++
		}
	}
	return n
}
