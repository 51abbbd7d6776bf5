package mask

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf16"
)

// MinLen is the length in bytes under which a secret is not masked: shorter ones would mask ordinary text.
const MinLen = 4

// forms returns the ways in which a tool may print s.
func forms(s string) []string {
	out := []string{s}
	if trimmed := strings.TrimSpace(s); trimmed != s {
		out = append(out, trimmed) // $(cat file) and most readers drop the last line break
	}
	out = append(out, lines(s)...)
	quoted := jsonForms(s)
	out = append(out, quoted...)
	for _, q := range quoted {
		out = append(out, jsonForms(q)...) // a document inside a document
	}
	out = append(out, urlForms(s)...)
	out = append(out, shellForms(s)...)
	return append(out, base64Forms(s)...)
}

func lines(s string) []string {
	if !strings.ContainsAny(s, "\r\n") {
		return nil
	}
	var out []string
	for l := range strings.SplitSeq(s, "\n") {
		out = append(out, strings.TrimSpace(l))
	}
	return out
}

func jsonForms(s string) []string {
	b, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	html := string(b[1 : len(b)-1])
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(html)
	out := []string{html, plain}
	if a := asciiJSON(plain); a != plain {
		out = append(out, a)
	}
	return out
}

// asciiJSON escapes what is beyond ASCII, as Python's json does by default.
func asciiJSON(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		}
	}
	return b.String()
}

func urlForms(s string) []string {
	out := []string{url.QueryEscape(s), url.PathEscape(s), percent(s, "-_.~"), percent(s, "-_.~/")}
	for _, u := range out[:4:4] {
		out = append(out, lowerHex(u))
	}
	return out
}

// percent escapes every byte that is no letter, digit or in keep, as other languages' libraries do.
func percent(s, keep string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], strings.ToLower(string(b[i+1:i+3])))
			i += 2
		}
	}
	return string(b)
}

func shellForms(s string) []string {
	return []string{
		strings.ReplaceAll(s, `'`, `'\''`),
		strings.ReplaceAll(s, `'`, `'"'"'`),
		strings.ReplaceAll(s, `'`, `''`), // PowerShell
		strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(s),
		strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(s), // $'...' and Python's repr
		backslashed(s),
	}
}

// backslashed escapes as printf %q does.
func backslashed(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(" !\"#$&'()*,;<>?[\\]^`{|}~\t", s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// base64Forms returns s encoded at each of the three alignments, cut to the characters that s alone decides.
func base64Forms(s string) []string {
	var out []string
	for offset := range 3 {
		data := append(make([]byte, offset, offset+len(s)), s...)
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := enc.EncodeToString(data)
			lo, hi := (offset*8+5)/6, len(text)
			if len(data)%3 != 0 {
				hi--
			}
			if lo < hi {
				out = append(out, text[lo:hi])
			}
		}
	}
	return out
}
