package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Bounds of the width of a line.
const (
	narrowest = 40
	plainWide = 100 // without a terminal
)

// width returns how many cells a line has: those of the terminal, which may change at any time, else COLUMNS.
func (s screen) width() int {
	if f, ok := s.w.(*os.File); ok && s.tty {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 { //nolint:gosec // file descriptors are small
			return max(n, narrowest)
		}
	}
	if s.columns > 0 {
		return max(s.columns, narrowest)
	}
	return plainWide
}

// columnsOf reads a COLUMNS variable; 0 means none.
func columnsOf(v string) int {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 1000 {
		return 0
	}
	return n
}

// wide are the blocks whose characters take two cells: Hangul, CJK, full-width forms and emoji.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x2e80, Hi: 0x303e, Stride: 1}, {Lo: 0x3041, Hi: 0xa4cf, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1}, {Lo: 0xfe30, Hi: 0xfe6f, Stride: 1},
		{Lo: 0xff00, Hi: 0xff60, Stride: 1}, {Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0x1f300, Hi: 0x1faff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1}},
}

// cells returns the number of columns that a character takes on a terminal.
func cells(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	default:
		return 1
	}
}

func cellsOf(s string) int {
	n := 0
	for _, r := range s {
		n += cells(r)
	}
	return n
}

// cut shortens a text without line breaks to a number of cells.
func cut(s string, limit int) string {
	if cellsOf(s) <= limit {
		return s
	}
	used := 1
	for i, r := range s {
		if used += cells(r); used > limit {
			return s[:i] + "…"
		}
	}
	return s
}

// pad fills a text up to a number of cells.
func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-cellsOf(s))) }

// field is one cell of a table; numbers are aligned to the right.
type field struct {
	text, status string
	number       bool
}

// table prints rows below their heading, each column as wide as it needs. It cuts no text.
func (s screen) table(heading []string, rows [][]field) {
	widths := make([]int, len(heading))
	for i, h := range heading {
		widths[i] = cellsOf(h)
		for _, r := range rows {
			widths[i] = max(widths[i], cellsOf(r[i].text))
		}
	}
	head := make([]field, len(heading))
	for i, h := range heading {
		head[i] = field{text: h, status: "dim", number: len(rows) > 0 && rows[0][i].number}
	}
	for _, r := range append([][]field{head}, rows...) {
		var b strings.Builder
		for i, f := range r {
			gap := strings.Repeat(" ", widths[i]-cellsOf(f.text))
			text := f.text
			if f.status != "" {
				text = s.paint(f.status, text)
			}
			switch {
			case f.number:
				b.WriteString(gap + text)
			case i == len(r)-1:
				b.WriteString(text)
			default:
				b.WriteString(text + gap)
			}
			if i < len(r)-1 {
				b.WriteString("  ")
			}
		}
		_, _ = fmt.Fprintln(s.w, strings.TrimRight(b.String(), " "))
	}
}

// maxParagraph bounds the lines that are shown of one message.
const maxParagraph = 8

// paragraph prints an external message, wrapped and indented. Its own line breaks stay.
func (s screen) paragraph(indent, text string) {
	avail := s.width() - len(indent)
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(plainText(text))) {
		lines = append(lines, wrap(strings.TrimRight(line, "\n"), avail)...)
		if len(lines) > maxParagraph {
			lines = append(lines[:maxParagraph], "…")
			break
		}
	}
	for _, l := range lines {
		_, _ = fmt.Fprintln(s.w, strings.TrimRight(indent+l, " "))
	}
}

// wrap breaks a line at spaces, and a longer word at the end of the line.
func wrap(line string, avail int) []string {
	var out []string
	for line = strings.ReplaceAll(line, "\t", "    "); cellsOf(line) > avail; {
		at, used, space := 0, 0, 0
		for i, r := range line {
			if used += cells(r); used > avail && i > 0 {
				break
			}
			if at = i + len(string(r)); r == ' ' && i > 0 {
				space = at
			}
		}
		if space > 0 {
			at = space
		}
		out = append(out, line[:at])
		line = line[at:]
	}
	return append(out, line)
}
