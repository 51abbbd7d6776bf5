package jcs

import (
	"strings"
	"unicode/utf8"
)

// Flaw names why a string is refused. The zero value means that it is valid.
type Flaw string

// The flaws, in the order of the checks.
const (
	None    Flaw = ""
	Syntax  Flaw = "syntax"  // a missing quotation mark, or no end
	Control Flaw = "control" // an unescaped control character
	Escape  Flaw = "escape"  // an unneeded escape, an alternative spelling, or half a surrogate pair
	UTF8    Flaw = "utf8"    // invalid UTF-8
	NUL     Flaw = "nul"     // U+0000, escaped or not
)

const hexDigits = "0123456789abcdef"

// plain is true for each ASCII character that needs no escape in a string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// plainBytes returns the number of bytes at the start of s that need no escape, or fewer: it checks eight at once.
func plainBytes(s string) int {
	const each, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		// A high bit marks a non-ASCII byte, a byte below space, a quotation mark or a backslash.
		if (x|(x-' '*each)|((x^'"'*each)-each)|((x^'\\'*each)-each))&high != 0 {
			break
		}
	}
	return i
}

// Append appends s with its quotation marks. If it returns a flaw, which is UTF8 or NUL, it has appended nothing.
func Append(b []byte, s string) ([]byte, Flaw) { return appendText(b, s, false) }

// appendText is Append; nul allows U+0000.
func appendText(b []byte, s string, nul bool) ([]byte, Flaw) {
	before, from := len(b), 0
	wide, null := false, false
	b = append(b, '"')
	for i := plainBytes(s); i < len(s); i++ {
		c := s[i]
		if plain[c] {
			continue
		}
		if c >= utf8.RuneSelf {
			wide = true
			continue
		}
		null = null || c == 0
		b = append(b, s[from:i]...)
		b = appendEscape(b, c)
		from = i + 1
	}
	switch {
	case wide && !utf8.ValidString(s):
		return b[:before], UTF8
	case null && !nul:
		return b[:before], NUL
	}
	b = append(b, s[from:]...)
	return append(b, '"'), None
}

func appendEscape(b []byte, c byte) []byte {
	if short := shortEscape(c); short != 0 {
		return append(b, '\\', short)
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// shortEscape returns the letter after the backslash, or zero for a character with an escape of six characters.
func shortEscape(c byte) byte {
	switch c {
	case '"', '\\':
		return c
	case '\b':
		return 'b'
	case '\t':
		return 't'
	case '\n':
		return 'n'
	case '\f':
		return 'f'
	case '\r':
		return 'r'
	}
	return 0
}

// Scan reads the string that begins at s[at] and returns its text and the index after it. If it returns a flaw, next
// is the place of the flaw; a flaw of the whole text has the place of its beginning. The text shares the memory of s
// unless it has escapes.
func Scan(s string, at int) (text string, next int, flaw Flaw) {
	if at >= len(s) || s[at] != '"' {
		return "", at, Syntax
	}
	from := at + 1
	wide := false
	for i := from + plainBytes(s[from:]); i < len(s); i++ {
		c := s[i]
		if plain[c] {
			continue
		}
		switch {
		case c == '"':
			text = s[from:i]
			if wide && !utf8.ValidString(text) {
				return "", from, UTF8
			}
			return text, i + 1, None
		case c == '\\':
			return unescape(s, from, i)
		case c < 0x20:
			return "", i, Control
		}
		wide = true
	}
	return "", len(s), Syntax
}

// unescape reads the rest of a string with escapes. The first escape is at s[i].
func unescape(s string, from, i int) (text string, next int, flaw Flaw) {
	b := append(make([]byte, 0, i-from+32), s[from:i]...)
	null := false
	for i < len(s) {
		c := s[i]
		switch {
		case c == '"':
			if !utf8.Valid(b) {
				return "", from, UTF8
			}
			if null {
				return "", from, NUL
			}
			return string(b), i + 1, None
		case c < 0x20:
			return "", i, Control
		case c != '\\':
			end := i + 1
			for end < len(s) && plain[s[end]] {
				end++
			}
			b = append(b, s[i:end]...)
			i = end
			continue
		}
		c, n, flaw := readEscape(s[i:])
		if flaw != None {
			return "", i, flaw
		}
		null = null || c == 0
		b, i = append(b, c), i+n
	}
	return "", len(s), Syntax
}

// readEscape reads the escape at the start of s: its character and its length. Only a control character, the quotation
// mark and the backslash have one; every other escape is refused, including surrogates.
func readEscape(s string) (c byte, n int, flaw Flaw) {
	if len(s) < 2 {
		return 0, 0, Syntax
	}
	if s[1] != 'u' {
		for _, c := range []byte("\"\\\b\t\n\f\r") {
			if shortEscape(c) == s[1] {
				return c, 2, None
			}
		}
		return 0, 0, Escape
	}
	if len(s) < 6 || s[2] != '0' || s[3] != '0' {
		return 0, 0, Escape
	}
	high, low := strings.IndexByte(hexDigits, s[4]), strings.IndexByte(hexDigits, s[5])
	if high < 0 || high > 1 || low < 0 {
		return 0, 0, Escape
	}
	c = byte(high<<4 | low)
	if shortEscape(c) != 0 {
		return 0, 0, Escape
	}
	return c, 6, None
}
