package paper

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/ports/plaintext"
)

//go:embed paper.css
var style string

// head begins a document: its policy, title and style. It is well-formed as XML too, so that any parser reads it. Its
// policy allows the style sheet alone.
const head = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="%s"/>
<meta name="viewport" content="width=device-width"/>
<meta name="referrer" content="no-referrer"/>
<title>%s</title>
<style>%s</style>
</head>
<body>
`

// Render renders a document and makes invisible characters in it visible. The body must have no void elements and no
// invisible characters of its own.
func Render(ctx context.Context, title string, body templ.Component) ([]byte, error) {
	sum := sha256.Sum256([]byte(style))
	var b bytes.Buffer
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'"
	_, _ = fmt.Fprintf(&b, head, html.EscapeString(policy), html.EscapeString(title), style)
	if err := body.Render(ctx, &b); err != nil {
		return nil, fmt.Errorf("render %s: %w", title, err)
	}
	b.WriteString("</body>\n</html>\n")
	return visible(b.Bytes(), mark), nil
}

// When formats a time in UTC with microseconds; the zero time is empty.
func When(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.000000 UTC")
}

// Cell returns a text for a table cell, with an apostrophe before anything that a spreadsheet would compute.
func Cell(s string) string {
	if t := strings.TrimLeftFunc(s, func(r rune) bool { return unicode.IsSpace(r) || Invisible(r) }); t != "" &&
		strings.ContainsRune("=+-@", rune(t[0])) {
		return "'" + s
	}
	return s
}

// Inert renders JSON made by JSON as a script element that is not executed. It accepts only text that cannot end its
// element.
func Inert(id string, doc []byte) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		if bytes.ContainsAny(doc, "<>&\u2028\u2029") || !json.Valid(doc) {
			return errors.New("not the JSON of a page")
		}
		_, err := fmt.Fprintf(w, "<script type=\"application/json\" id=\"%s\">%s</script>\n", html.EscapeString(id), doc)
		return err
	})
}

// JSON returns the JSON of a value on one line. Characters with a meaning in HTML or for a terminal are escaped: <, >
// and &, and every character that Invisible reports.
func JSON(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a document: %w", err)
	}
	return visible(b, func(out []byte, r rune) []byte {
		if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
			return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
		return fmt.Appendf(out, `\u%04x`, r)
	}), nil
}

// Visible replaces each character that Invisible reports by its number, such as ⟦U+202E⟧. The brackets themselves are
// replaced too, so that no text can imitate them.
func Visible(s string) string { return string(visible([]byte(s), mark)) }

func mark(out []byte, r rune) []byte {
	return append(fmt.Appendf(append(out, "⟦"...), "U+%04X", r), "⟧"...)
}

// visible replaces invisible characters by means of write.
func visible(b []byte, write func(out []byte, r rune) []byte) []byte {
	out := make([]byte, 0, len(b)+len(b)/64)
	for len(b) > 0 {
		// Fast path: most text is plain.
		n := 0
		for n < len(b) && (b[n] >= ' ' && b[n] < 0x7f || b[n] == '\n' || b[n] == '\t') {
			n++
		}
		out, b = append(out, b[:n]...), b[n:]
		if len(b) == 0 {
			break
		}
		r, size := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && size < 2:
			out = append(out, "\uFFFD"...)
		case Invisible(r):
			out = write(out, r)
		default:
			out = append(out, b[:size]...)
		}
		b = b[size:]
	}
	return out
}

// Invisible reports whether a character changes how others are shown, is invisible itself or looks like a space:
// controls except line feed and tab, bidirectional formatting, joiners, fillers, variation selectors, tags, unusual
// spaces, private use. The brackets of Visible are included.
func Invisible(r rune) bool {
	switch r {
	case '\n', '\t', ' ':
		return false
	case '⟦', '⟧':
		return true
	}
	return plaintext.Unseen(r) || unicode.Is(unicode.Zs, r)
}

// Count formats a number with its noun, such as "1 host" and "2,000 hosts".
func Count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String() + " " + many
}
