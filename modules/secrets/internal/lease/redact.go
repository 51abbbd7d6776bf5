package lease

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/secret"
)

const (
	// maxMessage is how many bytes of what an engine says are told.
	maxMessage = 300
	// maxRead bounds how much of it is looked at.
	maxRead = 64 << 10
	// shortest is the length in bytes of a secret that can be taken out of a text. Words with a shorter one are not told
	// at all.
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

// Redact returns what an engine said of a failure, in one line without any of the secrets, also as they are written
// in addresses and in documents. It is empty where nothing can be told.
func Redact(err error, secrets ...string) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if len(text) > maxRead {
		return "" // a secret may lie over the cut
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
	return short(line(text))
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
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			out = append(out, e.EncodeToString([]byte(t)))
		}
		if quoted, err := json.Marshal(t); err == nil {
			out = append(out, string(quoted[1:len(quoted)-1]))
		}
	}
	return slices.DeleteFunc(out, func(f string) bool { return len(f) < shortest })
}

// line makes one line of a text.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// short cuts a text where it is too long, between two characters.
func short(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	cut := maxMessage
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}
