package notify

import (
	"html"
	"strings"
	"unicode/utf16"
)

// zeroWidthSpace separates what would mean something together: it has no width.
const zeroWidthSpace = "\u200b"

// escaper returns what stands for a character in some markup.
type escaper func(rune) string

func plain(r rune) string { return string(r) }

// escapeMentions breaks up what mentions people, and nothing else.
func escapeMentions(r rune) string {
	if r == '@' {
		return "@" + zeroWidthSpace
	}
	return string(r)
}

// forSlack escapes the three characters of its control sequences. A mention is one of those; the names that some
// settings of a workspace look for beside are broken up.
func forSlack(r rune) string {
	switch r {
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	}
	return escapeMentions(r)
}

// forMattermost escapes what its markdown lets be escaped and means something within a line. HTML it shows as it is.
func forMattermost(r rune) string {
	if strings.ContainsRune("\\`*_[]()#!|~>", r) {
		return "\\" + string(r)
	}
	return escapeMentions(r)
}

// forDiscord escapes every sign of its markdown, and those of mentions, times and emoji.
func forDiscord(r rune) string {
	if strings.ContainsRune("\\`*_[]()<>#|~:", r) {
		return "\\" + string(r)
	}
	return escapeMentions(r)
}

// forRocketChat escapes what its parser can, and breaks up links, images, mentions and entities.
func forRocketChat(r rune) string {
	switch {
	case strings.ContainsRune("*_~`#", r):
		return "\\" + string(r)
	case strings.ContainsRune("@<]!&|:", r):
		return string(r) + zeroWidthSpace
	}
	return string(r)
}

// forTeams breaks up what the host of a card replaces: mentions and functions of dates. The text runs of a card know
// no markdown.
func forTeams(r rune) string {
	if strings.ContainsRune("@<{", r) {
		return string(r) + zeroWidthSpace
	}
	return string(r)
}

func forHTML(r rune) string { return html.EscapeString(string(r)) }

// truncate escapes a text and cuts it where it would have more than that many units of UTF-16, which is never less
// than its characters: so the services count that publish how they do. No escape and no character is cut in two.
func truncate(s string, most int, esc escaper) string {
	var b strings.Builder
	size, end := 0, 0 // end is how much still leaves room for the mark of a cut
	for _, r := range s {
		e := esc(r)
		if size += units(e); size > most {
			return b.String()[:end] + "…"
		}
		b.WriteString(e)
		if size < most {
			end = b.Len()
		}
	}
	return b.String()
}

// units counts a text in UTF-16.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// headerText makes a clean text fit for a header whose reader decodes the words of RFC 2047: what people typed is
// none of them.
func headerText(s string) string { return strings.ReplaceAll(s, "=?", "= ?") }

// headerToken keeps the letters, digits and signs that no header gives a meaning.
func headerToken(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-+", r) {
			return r
		}
		return -1
	}, s)
	return s[:min(len(s), maxName)]
}
