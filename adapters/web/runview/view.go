package runview

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

// MatrixView is a run whose matrix is shown. A live one is followed.
type MatrixView struct {
	Run  *runs.Run
	Live bool
}

// LogView is a run whose log is shown, with the end of the log.
type LogView struct {
	Run  *runs.Run
	Live bool
	// Tail is the end of the log, and begins with a whole line.
	Tail string
	// First is the number of the first line of Tail, 0 if it is not known.
	First int64
	// Offset is the place of Tail in the log, in bytes.
	Offset int64
	// Lines is the number of lines of the whole log, 0 if it is not known.
	Lines int64
}

// line is a line of the end of a log. Its number is 0 if it is not known.
type line struct {
	number int64
	text   string
}

// linesOf splits the end of a log, which begins with a whole line.
func linesOf(v LogView) []line {
	text, number := strings.TrimSuffix(v.Tail, "\n"), v.First
	if text == "" {
		return nil
	}
	if v.Offset == 0 && number == 0 {
		number = 1
	}
	var out []line
	for s := range strings.SplitSeq(text, "\n") {
		out = append(out, line{number: number, text: plain(s)})
		if number > 0 {
			number++
		}
	}
	return out
}

func (l line) id() string {
	if l.number == 0 {
		return ""
	}
	return "L" + strconv.FormatInt(l.number, 10)
}

func (l line) label() string {
	if l.number == 0 {
		return ""
	}
	return shell.Count(l.number)
}

// plain returns a line without the sequences of terminals and with visible marks for characters that cannot be seen.
// Only the last state of a line that carriage returns have overwritten is kept. The script ansi.js does the same.
func plain(s string) string {
	states := strings.FieldsFunc(s, func(r rune) bool { return r == '\r' })
	if len(states) == 0 {
		return ""
	}
	s = states[len(states)-1]
	var b strings.Builder
	for len(s) > 0 {
		if n := sequence(s); n > 0 {
			s = s[n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		b.WriteString(visible(r))
	}
	return b.String()
}

// visible returns a character, or the mark of one that cannot be seen.
func visible(r rune) string {
	const pictures, deleted = 0x2400, 0x2421
	switch {
	case r == '\t':
		return "\t"
	case r < ' ':
		return string(rune(pictures) + r)
	case r == 0x7f:
		return string(rune(deleted))
	case unicode.IsControl(r), r == 0x61c, r == 0x200b, r == 0x200e, r == 0x200f, r >= 0x2028 && r <= 0x202e,
		r >= 0x2060 && r <= 0x2069, r == 0xfeff, r >= 0xfff9 && r <= 0xfffb:
		return "U+" + strings.ToUpper(leftPad(strconv.FormatInt(int64(r), 16)))
	}
	return string(r)
}

func leftPad(hex string) string { return strings.Repeat("0", max(0, 4-len(hex))) + hex }

// sequence returns the length of the sequence of a terminal that s begins with, 0 for none.
func sequence(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	kind := r - 0x80 + '@' // a control of one character stands for ESC and the other character
	switch {
	case r == 0x1b && len(s) > 1:
		kind, n = rune(s[1]), n+1
	case r < 0x80 || r > 0x9f:
		return 0
	}
	switch kind {
	case '[':
		for n < len(s) && s[n] >= ' ' && s[n] <= '?' {
			n++
		}
		return min(n+1, len(s))
	case ']', 'P', 'X', '^', '_':
		return n + stringEnd(s[n:])
	}
	if r != 0x1b {
		return 0
	}
	for n--; n < len(s) && s[n] >= ' ' && s[n] <= '/'; n++ {
	}
	return min(n+1, len(s))
}

// stringEnd returns the length of a terminal's string with its end: BEL or ST.
func stringEnd(s string) int {
	for i, r := range s {
		switch {
		case r == 0x07:
			return i + 1
		case r == 0x9c:
			return i + len(string(r))
		case r == 0x1b:
			if strings.HasPrefix(s[i:], "\x1b\\") {
				return i + len("\x1b\\")
			}
			return i
		}
	}
	return len(s)
}
