package notify

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/writ-automation/writ/ports/plaintext"
	"github.com/writ-automation/writ/ports/secret"
)

// scrubber removes the request's secrets from an answer.
type scrubber struct {
	known []string // longest first, clean
	whole []string // the secrets that are single words, in lower case
}

// fixed are the parts of paths that the services themselves publish.
func fixed() []string {
	return []string{
		"api", "services", "hook", "hooks", "webhook", "webhooks", "workflows", "triggers", "manual", "paths", "invoke",
		"annotations", "enqueue",
		"accounts", "messages.json",
	}
}

// newScrubber hides the address after its host, and more secrets.
func newScrubber(u *url.URL, more []string) *scrubber {
	parts := append(strings.FieldsFunc(u.EscapedPath(), slash), strings.FieldsFunc(u.Path, slash)...)
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	parts = slices.DeleteFunc(parts, func(s string) bool {
		return len(s) < 3 || slices.Contains(fixed(), strings.ToLower(s))
	})
	if u.User != nil {
		password, _ := u.User.Password()
		more = append(more, u.User.Username(), password, u.User.String())
	}
	s := &scrubber{}
	for _, p := range append(parts, more...) {
		for _, form := range forms(p) {
			s.known, s.whole = append(s.known, form), append(s.whole, strings.ToLower(form))
		}
	}
	for _, p := range []string{u.EscapedPath(), u.Path, u.RawQuery, u.RequestURI()} {
		if len(p) > 2 {
			s.known = append(s.known, forms(p)...)
		}
	}
	slices.SortFunc(s.known, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	s.known = slices.Compact(s.known)
	return s
}

// forms returns a text as an answer may repeat it.
func forms(p string) []string {
	list := []string{
		p, url.QueryEscape(p), url.PathEscape(p), hex.EncodeToString([]byte(p)),
		base64.RawStdEncoding.EncodeToString([]byte(p)),
		base64.RawURLEncoding.EncodeToString([]byte(p)),
	}
	for i := range list {
		list[i] = joined(list[i], maxAnswer)
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

func slash(r rune) bool { return r == '/' }

// joined returns a text as one line without unseen characters, in which a secret is found that has some between its
// letters.
func joined(s string, most int) string {
	return plaintext.Line(strings.Map(func(r rune) rune {
		if plaintext.Unseen(r) && !unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd")), most)
}

// excerpt returns the beginning of an answer without secrets, or "" if a part of a secret remains.
func (s *scrubber) excerpt(answer []byte) string {
	text := joined(string(answer), 16*maxExcerpt)
	for _, k := range s.known {
		text = regexp.MustCompile("(?i)"+regexp.QuoteMeta(k)).ReplaceAllLiteralString(text, secret.Mask)
	}
	text = plaintext.Cut(text, maxExcerpt)
	low := strings.ToLower(text)
	for _, k := range s.whole {
		if len(k) >= 12 && containsPiece(low, k) {
			return ""
		}
	}
	return text
}

// containsPiece reports whether eight bytes of a secret in a row are in a text.
func containsPiece(text, known string) bool {
	const piece = 8
	for i := 0; i+piece <= len(known); i++ {
		if strings.Contains(text, known[i:i+piece]) {
			return true
		}
	}
	return false
}
