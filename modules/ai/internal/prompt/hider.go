package prompt

import (
	"strings"

	"github.com/writ-automation/writ/modules/ai/internal/plain"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/secret/mask"
)

// shortWord is the length in bytes below which a value is hidden only where it is a whole word, since it is a part of
// other words. One of fewer than mask.MinLen bytes is not hidden, as no secret is.
const shortWord = 8

// quoted writes a text as documents have it.
var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)

// Hider hides values in texts.
type Hider struct {
	anywhere *mask.Masker
	words    map[string]bool
	longest  int // of the words, in bytes
}

// NewHider returns a hider for texts that a prompt can have.
func NewHider(values []string) *Hider {
	h := &Hider{words: map[string]bool{}}
	var long []string
	for _, v := range values {
		switch t := strings.TrimSpace(v); {
		case len(t) >= shortWord:
			long = append(long, v)
		case len(t) >= mask.MinLen:
			h.word(t)
			h.word(quoted.Replace(t))
		}
	}
	h.anywhere = mask.NewFor(long, ai.MaxPrompt)
	return h
}

func (h *Hider) word(w string) {
	h.words[w], h.longest = true, max(h.longest, len(w))
}

// Text returns the text as plain text without the values.
func (h *Hider) Text(s string) string {
	return h.hideWords(h.anywhere.String(plain.Output(s)))
}

// Head returns at most n bytes of what Text returns. The end of a longer text may have been cut off before, within a
// value: what may be the beginning of one is left out.
func (h *Hider) Head(s string, n int) string {
	if len(s) <= n {
		return h.Text(s)
	}
	return plain.Head(h.hideWords(h.anywhere.Prefix(plain.Output(s))), n)
}

// hideWords hides the short values.
func (h *Hider) hideWords(s string) string {
	var b strings.Builder
	from := 0 // of what is not in b yet
	for i := 0; i < len(s); i++ {
		if n := h.wordAt(s, i); n > 0 {
			b.WriteString(s[from:i] + mask.Replacement)
			from = i + n
			i = from - 1
		}
	}
	return b.String() + s[from:]
}

// wordAt returns the length of the longest short value that is a whole word at i, 0 for none.
func (h *Hider) wordAt(s string, i int) int {
	within := func(at int) bool { return at > 0 && at < len(s) && letter(s[at-1]) && letter(s[at]) }
	if within(i) {
		return 0
	}
	for n := min(h.longest, len(s)-i); n >= mask.MinLen; n-- {
		if h.words[s[i:i+n]] && !within(i+n) {
			return n
		}
	}
	return 0
}

// letter reports whether a byte belongs to a letter or a digit.
func letter(c byte) bool {
	return c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
