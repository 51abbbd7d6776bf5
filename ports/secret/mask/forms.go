package mask

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// MinLen is the length in bytes below which a secret is not masked: shorter ones would mask ordinary text.
const MinLen = 4

// forms returns the ways in which a tool may print s, each once.
func forms(s string) []string {
	whole := []string{s}
	if trimmed := strings.TrimSpace(s); trimmed != s {
		whole = append(whole, trimmed) // $(cat file) and most readers remove the last line break
	}
	var out []string
	for _, w := range whole {
		out = append(out, escaped(w)...)
		out = append(out, urlForms(w)...)
		out = append(out, base64Forms(w)...)
		out = append(out, hexForms(w)...)
	}
	return unique(append(out, lineForms(s)...))
}

// lineForms returns the lines of s: Ansible also prints output as a list of lines.
func lineForms(s string) (out []string) {
	for _, l := range lines(s) {
		out = append(out, escaped(l)...)
	}
	return unique(out)
}

// escaped returns s unchanged, quoted for shells, and escaped for documents.
func escaped(s string) []string {
	if !strings.ContainsFunc(s, special) {
		return []string{s}
	}
	out := unique(append([]string{s}, shellForms(s)...))
	for _, text := range out[:len(out):len(out)] {
		out = append(out, jsonForms(text)...)
	}
	for _, quoted := range unique(jsonForms(s)) {
		out = append(out, jsonForms(quoted)...) // a document inside a document
	}
	return out
}

// special reports whether a shell or a document may escape the character.
func special(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("+/-_.:%@", r)
}

func unique(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(s string) bool {
		again := seen[s]
		seen[s] = true
		return again
	})
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
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil
	}
	plain := strings.Trim(b.String(), "\n")
	plain = separators.Replace(plain[1 : len(plain)-1])
	out := []string{forHTML.Replace(plain), plain}
	if a := asciiJSON(plain); a != plain {
		out = append(out, a)
	}
	return out
}

var (
	// forHTML escapes as Go's encoder does by default.
	forHTML = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "\u2028", `\u2028`, "\u2029", `\u2029`)
	// separators writes the line and paragraph separators, which Go's encoder always escapes, unescaped. It skips
	// escaped backslashes.
	separators = strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029")
)

// asciiJSON escapes non-ASCII characters, as Python's json does by default.
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
	path := percent(s, "-_.~/")
	out := []string{url.QueryEscape(s), url.PathEscape(s), percent(s, "-_.~"), path, strings.ReplaceAll(path, "%20", "+")}
	for _, u := range out[:5:5] {
		out = append(out, lowerHex(u))
	}
	return out
}

// percent escapes every byte except letters, digits and those in safe, as libraries of other languages do.
func percent(s, safe string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(safe, c) >= 0 {
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
		backslashed(s, false),
		backslashed(s, true),
	}
}

// backslashed escapes as printf %q does: that of bash, which escapes a hash only at the beginning and a tilde only
// there and after a colon or an equals sign, or of other shells, which always escape both.
func backslashed(s string, always bool) string {
	var b strings.Builder
	for i := range len(s) {
		special := strings.IndexByte(" !\"$&'()*,;<>?[\\]^`{|}\t", s[i]) >= 0
		switch s[i] {
		case '#':
			special = always || i == 0
		case '~':
			special = always || i == 0 || s[i-1] == ':' || s[i-1] == '='
		}
		if special {
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
			if enc == base64.RawStdEncoding {
				out = append(out, broken(text[:hi], lo)...)
			}
		}
	}
	return out
}

// hexLine is the number of digits after which xxd breaks a plain dump.
const hexLine = 60

// hexForms returns s in hexadecimal digits, in small and capital letters, and as the lines of a plain dump of a file.
func hexForms(s string) []string {
	text := hex.EncodeToString([]byte(s))
	out := []string{text, strings.ToUpper(text)}
	for at := 0; len(text) > hexLine && at < len(text); at += hexLine {
		if line := text[at:min(at+hexLine, len(text))]; len(line) >= shortestLine {
			out = append(out, line)
		}
	}
	return out
}

// shortestLine is the least number of encoded characters on a separate line that are masked: shorter ones are too
// similar to ordinary words.
const shortestLine = 8

// broken returns the lines of base64 with line breaks at 76 characters or, for a whole file, at 64, without the text
// before from.
func broken(text string, from int) []string {
	var out []string
	for _, width := range []int{76, 64} {
		if width == 64 && from > 0 {
			break
		}
		for at := 0; len(text) > width && at < len(text); at += width {
			if line := text[max(at, from):min(at+width, len(text))]; len(line) >= shortestLine {
				out = append(out, line)
			}
		}
	}
	return out
}
