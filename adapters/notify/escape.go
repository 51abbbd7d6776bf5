package notify

import (
	"html"
	"strings"
	"unicode/utf16"
)

// zeroWidthSpace separates characters that have a meaning together.
const zeroWidthSpace = "\u200b"

// escaper returns the escaped form of a character in some markup.
type escaper func(rune) string

func plain(r rune) string { return string(r) }

// escapeMentions breaks up mentions of people, and nothing else.
func escapeMentions(r rune) string {
	if r == '@' {
		return "@" + zeroWidthSpace
	}
	return string(r)
}

// forSlack escapes the three characters of its control sequences, which include mentions. It also breaks up the names
// that some workspace settings recognize outside of them.
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

// forMattermost escapes inline markdown as far as Mattermost supports that. Mattermost does not interpret HTML.
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

// forTeams breaks up what the host of a card replaces: mentions and date functions. The text runs of a card have no
// markdown.
func forTeams(r rune) string {
	if strings.ContainsRune("@<{", r) {
		return string(r) + zeroWidthSpace
	}
	return string(r)
}

func forHTML(r rune) string { return html.EscapeString(string(r)) }

// truncate escapes a text and cuts it to most units of UTF-16, which are never fewer than its characters. Services that
// document how they count use these units. It cuts between escapes and characters.
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

// headerText prepares a clean text for a header whose reader decodes encoded words of RFC 2047: it breaks up such words
// in text from users.
func headerText(s string) string { return strings.ReplaceAll(s, "=?", "= ?") }

// headerToken keeps letters, digits and characters without a meaning in headers.
func headerToken(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-+", r) {
			return r
		}
		return -1
	}, s)
	return s[:min(len(s), maxName)]
}
