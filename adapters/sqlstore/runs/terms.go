package runs

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of the indexed text of one run.
const (
	maxTerms    = 4096
	maxTermLen  = 64       // runes; the rest of a longer word is not searched
	maxTextSize = 64 << 10 // bytes of one text
)

// termsOf returns the words of the texts: sequences of letters and digits in lower case, each once, in order.
func termsOf(texts ...string) []string {
	var out []string
	seen := map[string]bool{}
	for _, t := range texts {
		for w := range strings.FieldsFuncSeq(cutText(t), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
			w = cutTerm(strings.ToLower(w))
			if seen[w] {
				continue
			}
			if len(out) == maxTerms {
				return out
			}
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

func cutText(t string) string {
	if len(t) > maxTextSize {
		t = t[:maxTextSize]
	}
	// Invalid UTF-8 separates words, since it decodes to a character that no engine stores.
	return strings.ToValidUTF8(t, " ")
}

func cutTerm(w string) string {
	if len(w) <= maxTermLen || utf8.RuneCountInString(w) <= maxTermLen {
		return w
	}
	return string([]rune(w)[:maxTermLen])
}

// searchText lists the texts by which a run is found.
func searchText(r *runs.Run) []string {
	texts := []string{r.Name, r.Spec.Playbook, r.Actor.Name, r.Error}
	for k, v := range r.Labels {
		texts = append(texts, k, v)
	}
	return append(texts, r.Spec.Command)
}
