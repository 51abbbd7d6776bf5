package manifest

import (
	"fmt"
	"slices"
)

// Limits of a diff: the number of differing lines beyond which whole blocks are shown, the number of context lines, and
// the number of lines in total.
const (
	maxEdits     = 1000
	around       = 2
	maxDiffLines = 200
	lineWidth    = 400 // characters
)

// edit is a line with its sign.
type edit struct {
	sign byte
	text string
}

// diff compares two texts by lines.
func diff(a, b []string) []string {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	edits := make([]edit, 0, len(a)+len(b))
	for _, l := range a[:head] {
		edits = append(edits, edit{' ', l})
	}
	edits = append(edits, middle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, l := range a[len(a)-tail:] {
		edits = append(edits, edit{' ', l})
	}
	return hunks(edits)
}

// middle finds the fewest edits. It replaces everything if they are too many.
func middle(a, b []string) []edit {
	trace, found := paths(a, b)
	if !found {
		out := make([]edit, 0, len(a)+len(b))
		for _, l := range a {
			out = append(out, edit{'-', l})
		}
		for _, l := range b {
			out = append(out, edit{'+', l})
		}
		return out
	}
	var back []edit
	x, y := len(a), len(b)
	for d := len(trace) - 1; d > 0; d-- {
		v, k := trace[d-1], x-y
		down := k == -d || k != d && v[k-1+d] < v[k+1+d]
		pk := k - 1
		if down {
			pk = k + 1
		}
		sx, sy := v[pk+d]+1, v[pk+d]-pk
		if down {
			sx, sy = sx-1, sy+1
		}
		for x > sx && y > sy {
			x, y = x-1, y-1
			back = append(back, edit{' ', a[x]})
		}
		if down {
			y--
			back = append(back, edit{'+', b[y]})
		} else {
			x--
			back = append(back, edit{'-', a[x]})
		}
	}
	for x > 0 {
		x--
		back = append(back, edit{' ', a[x]})
	}
	slices.Reverse(back)
	return back
}

// paths is Myers' search: the furthest point on each diagonal for each number of edits. Entry d has the diagonals
// -(d+1) to d+1.
func paths(a, b []string) (trace [][]int, found bool) {
	v := []int{0, 0, 0}
	for d := 0; d <= maxEdits && d <= len(a)+len(b); d++ {
		next := make([]int, 2*d+3)
		for k := -d; k <= d; k += 2 {
			x := 0
			switch {
			case d == 0:
			case k == -d || k != d && v[k-1+d] < v[k+1+d]:
				x = v[k+1+d]
			default:
				x = v[k-1+d] + 1
			}
			for y := x - k; x < len(a) && y < len(b) && a[x] == b[y]; y++ {
				x++
			}
			next[k+d+1] = x
			if x >= len(a) && x-k >= len(b) {
				return append(trace, next), true
			}
		}
		trace = append(trace, next)
		v = next
	}
	return nil, false
}

// hunks drops lines that are far from any difference.
func hunks(edits []edit) []string {
	near := make([]bool, len(edits))
	for i, e := range edits {
		if e.sign != ' ' {
			for j := max(0, i-around); j <= min(len(edits)-1, i+around); j++ {
				near[j] = true
			}
		}
	}
	var out []string
	for i, e := range edits {
		if !near[i] {
			continue
		}
		if i > 0 && !near[i-1] && len(out) > 0 {
			out = append(out, "  ...")
		}
		if len(out) >= maxDiffLines {
			return append(out, fmt.Sprintf("  ... and more: %d lines are there, %d will be", count(edits, '+'),
				count(edits, '-')))
		}
		text := e.text
		if r := []rune(text); len(r) > lineWidth {
			text = string(r[:lineWidth]) + "..."
		}
		out = append(out, string(e.sign)+" "+text)
	}
	return out
}

// count counts the lines of one side: all except those with the given sign.
func count(edits []edit, without byte) int {
	n := 0
	for _, e := range edits {
		if e.sign != without {
			n++
		}
	}
	return n
}
