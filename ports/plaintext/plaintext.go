// Package plaintext has the rules for texts from outside that people read: what is in a text is what they see.
package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unseen reports whether a character is shown as nothing, or changes how others are shown: controls with line ends and
// tabs, marks of direction, joiners, fillers, variation selectors, tags, private use, separators of lines and
// paragraphs. Spaces are seen.
func Unseen(r rune) bool {
	const brailleBlank, nullNotehead = '\u2800', '\U0001D159'
	return r == brailleBlank || r == nullNotehead ||
		unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp,
			unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Noncharacter_Code_Point)
}

// Line returns a text as one line of at most most characters, in which U+FFFD stands for bytes that are not UTF-8. One
// space stands for white space and unseen characters, none at the ends. They are not removed, since that could join
// the parts of a secret. A cut is marked with "…".
func Line(s string, most int) string {
	if len(s) > 16*most { // the rest could not be shown
		s = s[:16*most]
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || Unseen(r) {
			return ' '
		}
		return r
	}, valid(s))
	return Cut(strings.Join(strings.Fields(s), " "), most)
}

// Cut returns the first most characters of a text, at least one, the last of which is "…" if that is not all.
func Cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:most-1])) + "…"
}

// Lines returns a text in which instead stands for unseen characters, removed if it is negative, and U+FFFD for bytes
// that are not UTF-8. Line ends become line feeds. Line feeds and tabs stay, and the two characters that emoji and the
// signs of some scripts are joined with.
func Lines(s string, instead rune) string {
	const joiner, emojiStyle = '\u200d', '\ufe0f'
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == joiner, r == emojiStyle, !Unseen(r):
			return r
		}
		return instead
	}, valid(strings.ReplaceAll(s, "\r\n", "\n")))
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
