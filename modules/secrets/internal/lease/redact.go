package lease

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/plaintext"
	"github.com/writ-automation/writ/ports/secret"
)

const (
	// maxMessage bounds an engine's message, in characters.
	maxMessage = 300
	// maxRead bounds how much of a message is read.
	maxRead = 64 << 10
	// shortest is the length in bytes of the shortest secret that can be masked in a text. A text with a shorter secret
	// is dropped.
	shortest = 4
)

// Texts returns every text within a value of a document, numbers among them as they are written.
func Texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case json.Number:
		return []string{v.String()}
	case map[string]any:
		var out []string
		for _, e := range v {
			out = append(out, Texts(e)...)
		}
		return out
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, Texts(e)...)
		}
		return out
	default:
		return nil
	}
}

// Redact returns an engine's error in one line without the secrets, including their escaped and encoded forms. It is
// empty if the text cannot be shown.
func Redact(err error, secrets ...string) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if len(text) > maxRead {
		return "" // the cut may split a secret
	}
	forms := map[string]bool{}
	for _, s := range secrets {
		trimmed := strings.TrimSpace(s)
		if trimmed == "" {
			continue
		}
		if len(trimmed) < shortest {
			if strings.Contains(text, trimmed) {
				return ""
			}
			continue
		}
		for _, f := range written(s, trimmed) {
			forms[f] = true
		}
	}
	list := make([]string, 0, len(forms))
	for f := range forms {
		list = append(list, f)
	}
	// The longest first: one secret may be a part of another.
	slices.SortFunc(list, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	for _, f := range list {
		text = strings.ReplaceAll(text, f, secret.Mask)
	}
	return plaintext.Line(text, maxMessage)
}

// written returns the ways in which an engine may write a secret.
func written(s, trimmed string) []string {
	out := []string{s, trimmed}
	for l := range strings.Lines(s) {
		if l = strings.TrimSpace(l); len(l) >= shortest {
			out = append(out, l)
		}
	}
	for _, t := range []string{s, trimmed} {
		out = append(out, url.QueryEscape(t), url.PathEscape(t), url.UserPassword("", t).String()[1:])
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding,
			base64.RawURLEncoding} {
			out = append(out, e.EncodeToString([]byte(t)))
		}
		if quoted, err := json.Marshal(t); err == nil {
			out = append(out, string(quoted[1:len(quoted)-1]))
		}
	}
	return slices.DeleteFunc(out, func(f string) bool { return len(f) < shortest })
}
