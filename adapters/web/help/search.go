package help

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxFound bounds the results of a search, maxWords its words.
const (
	maxFound = 20
	maxWords = 8
)

// hit is a passage that has all words of a search.
type hit struct {
	Path, Title, Heading string
	// Before, Word and After are the text around the first word.
	Before, Word, After string
	rank                int
}

// search returns the passages with all words, those with a word in a title or heading first. more is how many are left
// out.
func search(list []document, query string) (found []hit, more int) {
	words := strings.Fields(strings.ToLower(query))
	words = words[:min(len(words), maxWords)]
	for _, d := range list {
		for _, s := range d.sections {
			if h, ok := matches(d, s, words); ok {
				found = append(found, h)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b hit) int { return b.rank - a.rank })
	more = max(len(found)-maxFound, 0)
	return found[:len(found)-more], more
}

func matches(d document, s passage, words []string) (hit, bool) {
	title, heading, body := strings.ToLower(d.Title), strings.ToLower(s.heading), strings.ToLower(s.text)
	rank, seen := 0, false
	for _, w := range words {
		switch {
		case strings.Contains(heading, w):
			rank += 3
		case strings.Contains(title, w) && s.heading == "":
			rank += 4
		case strings.Contains(body, w):
			rank++
		case strings.Contains(title, w):
		default:
			return hit{}, false
		}
		seen = seen || !strings.Contains(title, w) || s.heading == ""
	}
	if !seen || len(words) == 0 {
		return hit{}, false
	}
	h := hit{Path: "/ui/help/" + d.Path, Title: d.Title, Heading: s.heading, rank: rank}
	if s.anchor != "" {
		h.Path += "#" + s.anchor
	}
	h.Before, h.Word, h.After = around(s.text, body, words)
	return h, true
}

// around returns the text around the first word that is found.
func around(text, lower string, words []string) (before, word, after string) {
	const width = 90
	at, length := -1, 0
	for _, w := range words {
		if i := strings.Index(lower, w); i >= 0 && (at < 0 || i < at) {
			at, length = i, len(w)
		}
	}
	if at < 0 || len(lower) != len(text) {
		return "", "", clip(text, 0, 2*width)
	}
	return clip(text[:at], at-width, at), text[at : at+length], clip(text[at+length:], 0, width)
}

// clip returns a part of a text, with whole characters and with dots where something is left out.
func clip(text string, from, to int) string {
	from, to = max(from, 0), min(to, len(text))
	for from < to && !utf8.RuneStart(text[from]) {
		from++
	}
	for to > from && to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	out := text[from:to]
	if from > 0 {
		out = "… " + out
	}
	if to < len(text) {
		out += " …"
	}
	return out
}
