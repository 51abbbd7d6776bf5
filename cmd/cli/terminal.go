package cli

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen is the output of a command for readers: in colours on a terminal, plain elsewhere.
type screen struct {
	w       io.Writer
	tty     bool
	colour  bool
	bare    bool // --no-color or NO_COLOR: logs lose their colours, too
	columns int  // of COLUMNS; the width of a terminal takes precedence
}

func newScreen(w environment) screen {
	s := screen{w: w.out, columns: columnsOf(w.env("COLUMNS"))}
	if f, ok := w.out.(*os.File); ok {
		s.tty = term.IsTerminal(int(f.Fd())) //nolint:gosec // file descriptors are small
	}
	s.bare = w.plain != nil && *w.plain || w.env("NO_COLOR") != ""
	s.colour = s.tty && !s.bare && w.env("TERM") != "dumb"
	return s
}

// palette maps outcomes and statuses to colours that read on light and dark grounds.
func palette(status string) string {
	switch status {
	case "succeeded", "checked", "ok":
		return "32"
	case "changed", "pending_approval", "rescued", "ignored":
		return "33"
	case "failed", "unreachable", "rejected":
		return "31"
	case "canceled", "interrupted", "incomplete":
		return "35"
	case "running":
		return "36"
	case "bold":
		return "1"
	default:
		return "2"
	}
}

// mark is the character in front of a run with this status.
func mark(status string) string {
	switch status {
	case "succeeded", "checked":
		return "✓"
	case "failed", "rejected", "unreachable":
		return "✗"
	case "canceled":
		return "■"
	case "interrupted", "rescued":
		return "!"
	case "pending_approval", "pending", "skipped":
		return "○"
	default:
		return "●"
	}
}

func (s screen) paint(status, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + palette(status) + "m" + text + "\x1b[0m"
}

// plainText makes an external text harmless on a terminal: control characters are escaped, invalid bytes become
// question marks.
func plainText(s string) string {
	clean := func(r rune) bool { return (r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f)) || r == '\n' || r == '\t' }
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !clean(r) || isBidiControl(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "?") {
		if clean(r) && !isBidiControl(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(escaped(r))
		}
	}
	return b.String()
}

// isBidiControl reports whether a character changes the direction of the following text, so that a line reads as
// another one.
func isBidiControl(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

func escaped(r rune) string {
	const digits = "0123456789abcdef"
	if r < 0x100 {
		return `\x` + string(digits[r>>4]) + string(digits[r&15])
	}
	return `\u` + string(digits[r>>12&15]) + string(digits[r>>8&15]) + string(digits[r>>4&15]) + string(digits[r&15])
}

// oneLine is plainText without line breaks, cut to a number of cells.
func oneLine(s string, limit int) string {
	return cut(strings.Join(strings.Fields(plainText(s)), " "), limit)
}

// logWriter passes a run's output on. On a terminal, colours stay and every other control sequence is shown as an
// escape. Elsewhere no byte is changed, unless colours are refused: then their sequences are removed.
type logWriter struct {
	screen
	held string // the beginning of a sequence that continues in the next piece
}

// maxSequence bounds the length of an unfinished colour sequence, in bytes.
const maxSequence = 32

func (l *logWriter) write(text string) error {
	if !l.tty && !l.bare {
		_, err := io.WriteString(l.w, text)
		return err
	}
	shown, escape := visible, `\x1b`
	if !l.tty {
		shown, escape = func(s string) string { return s }, "\x1b"
	}
	text = l.held + text
	l.held = ""
	var b strings.Builder
	for text != "" {
		i := strings.IndexByte(text, 0x1b)
		if i < 0 {
			b.WriteString(shown(text))
			break
		}
		b.WriteString(shown(text[:i]))
		text = text[i:]
		n, whole := colourSequence(text)
		if !whole && len(text) < maxSequence {
			l.held = text
			break
		}
		if n > 0 {
			if l.colour {
				b.WriteString(text[:n])
			}
			text = text[n:]
			continue
		}
		b.WriteString(escape)
		text = text[1:]
	}
	_, err := io.WriteString(l.w, b.String())
	return err
}

func visible(s string) string {
	parts := strings.Split(s, "\r")
	for i := range parts {
		parts[i] = plainText(parts[i])
	}
	return strings.Join(parts, "\r")
}

// colourSequence returns the length of the colour sequence at the beginning of s, 0 for another sequence; whole is
// false if s ends too early to decide.
func colourSequence(s string) (n int, whole bool) {
	if len(s) == 1 {
		return 0, false
	}
	if s[1] != '[' {
		return 0, true
	}
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9' || c == ';' || c == ':':
		case c == 'm':
			return i + 1, true
		default:
			return 0, true
		}
	}
	return 0, false
}
