// Package linediff compares texts by lines.
package linediff

import (
	"fmt"
	"slices"
	"strings"
)

// maxEdits is the number of differing lines beyond which whole blocks are replaced.
const maxEdits = 1000

// Line is a line with its sign: ' ' in both texts, '-' in the first alone, '+' in the second alone.
type Line struct {
	Sign byte
	Text string
}

// Lines returns the lines of a text. If the last one has no end, it says so in a further line, as diff does.
func Lines(text string) []string {
	if text == "" {
		return nil
	}
	whole, ended := strings.CutSuffix(text, "\n")
	lines := strings.Split(whole, "\n")
	if !ended {
		lines[len(lines)-1] += "\n\\ No newline at end of file"
	}
	return lines
}

// Compare returns all lines of two texts with their signs. The differences are the fewest, unless there are too many.
func Compare(a, b []string) []Line {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	out := make([]Line, 0, len(a)+len(b))
	for _, l := range a[:head] {
		out = append(out, Line{' ', l})
	}
	out = append(out, middle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, l := range a[len(a)-tail:] {
		out = append(out, Line{' ', l})
	}
	return out
}

// Near reports for each line whether a difference is at most some lines away.
func Near(lines []Line, around int) []bool {
	near := make([]bool, len(lines))
	for i, l := range lines {
		if l.Sign != ' ' {
			for j := max(0, i-around); j <= min(len(lines)-1, i+around); j++ {
				near[j] = true
			}
		}
	}
	return near
}

// around is the number of equal lines around a difference.
const around = 3

// Unified writes the differences in the unified form without a header. cut means that it ends early, at most bytes, or
// that lines of more than width bytes are shortened.
func Unified(lines []Line, most, width int) (text string, cut bool) {
	var all, hunk strings.Builder
	near, a, b := Near(lines, around), 1, 1
	for i := 0; i < len(lines); i++ {
		if !near[i] {
			a, b = a+1, b+1
			continue
		}
		fromA, fromB, full := a, b, false
		for hunk.Reset(); i < len(lines) && near[i]; i++ {
			l := lines[i].Text
			if len(l) > width {
				l, cut = strings.ToValidUTF8(l[:width], "")+"…", true
			}
			if full = all.Len()+hunk.Len()+len(l) > most; full {
				break
			}
			hunk.WriteString(string(lines[i].Sign) + l + "\n")
			if lines[i].Sign != '+' {
				a++
			}
			if lines[i].Sign != '-' {
				b++
			}
		}
		if hunk.Len() > 0 {
			fmt.Fprintf(&all, "@@ -%s +%s @@\n", span(fromA, a), span(fromB, b))
			all.WriteString(hunk.String())
		}
		if full {
			return all.String(), true
		}
		i-- // the line after the hunk is the next one
	}
	return all.String(), cut
}

// span is a range of lines in a header. An empty one is after the line before.
func span(from, end int) string {
	n := end - from
	if n == 0 {
		from--
	}
	return fmt.Sprintf("%d,%d", from, n)
}

// middle finds the fewest edits. It replaces everything if they are too many.
func middle(a, b []string) []Line {
	trace, found := paths(a, b)
	if !found {
		out := make([]Line, 0, len(a)+len(b))
		for _, l := range a {
			out = append(out, Line{'-', l})
		}
		for _, l := range b {
			out = append(out, Line{'+', l})
		}
		return out
	}
	var back []Line
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
			back = append(back, Line{' ', a[x]})
		}
		if down {
			y--
			back = append(back, Line{'+', b[y]})
		} else {
			x--
			back = append(back, Line{'-', a[x]})
		}
	}
	for x > 0 {
		x--
		back = append(back, Line{' ', a[x]})
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
