package reporttest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/modules/audit/internal/report/paper"
)

// Page is the parsed form of a document.
type Page struct {
	Shape  []string // each tag with its attributes, in order
	Text   string   // the visible text
	Script string   // the contents of the one script element
}

// Hostile returns texts that try to act as markup.
func Hostile() []string {
	return []string{
		"</script><script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`,
		"</style></title><svg onload=alert(1)>",
		"javascript:alert(1)", "<!--", "--><b>", "]]>", "<![CDATA[", "&lt;b&gt;&#60;i&#62;", "{{.}}", "=cmd|' /C calc'!A0",
		"+1", "-1", "@SUM(A1)", "\u202Etxt.exe\u202C",
		"\u2066a\u2069", "a\u200Bb\uFEFF\u00AD", "\u2028\u2029", "a\x00b\x1b[2J\r\n", "\xff\xfe", "\U000E0041",
		"`${alert(1)}`", "<plaintext>", "</td></tr></table>", "\\u003cb\\u003e",
	}
}

// Read parses a document strictly: well-formed to the last byte, only the elements and attributes that documents use,
// no comment, nothing invisible, nothing that loads or runs.
func Read(t *testing.T, doc []byte) Page {
	t.Helper()
	var p Page
	var text strings.Builder
	var open []string
	d := xml.NewDecoder(bytes.NewReader(doc))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			p.Shape = append(p.Shape, tag(t, x))
			open = append(open, x.Name.Local)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			p.take(t, &text, open, string(x))
		case xml.Directive:
			if string(x) != "DOCTYPE html" || len(p.Shape) > 0 {
				t.Errorf("a directive %q", x)
			}
		default:
			t.Errorf("something like %T", x)
		}
	}
	if i := strings.IndexFunc(string(doc), func(r rune) bool {
		return paper.Invisible(r) && r != '⟦' && r != '⟧'
	}); i >= 0 {
		t.Errorf("something invisible: %q", doc[i:min(i+20, len(doc))])
	}
	p.Text = text.String()
	return p
}

// take sorts the text between the tags.
func (p *Page) take(t *testing.T, text *strings.Builder, open []string, s string) {
	t.Helper()
	switch {
	case slices.Contains(open, "script"):
		p.Script += s
	case slices.Contains(open, "style"):
		sum := sha256.Sum256([]byte(s))
		if want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'"; !strings.Contains(strings.Join(p.Shape, "\n"), want) {
			t.Errorf("the policy does not allow the style sheet: it has to say %s", want)
		}
		if strings.Contains(s, "url(") || strings.Contains(s, "@import") {
			t.Errorf("the style sheet loads something")
		}
	default:
		text.WriteString(s)
	}
}

// tag returns a tag as text and refuses any that documents do not use.
func tag(t *testing.T, x xml.StartElement) string {
	t.Helper()
	allowed := map[string][]string{
		"html": {"lang"}, "head": nil, "meta": {"charset", "http-equiv", "content", "name"}, "title": nil, "style": nil,
		"body": nil, "h1": nil, "h2": nil,
		"p": {"class"}, "div": {"class"}, "ul": nil, "li": nil, "dl": nil, "dt": nil, "dd": {"class"}, "table": nil,
		"thead": nil, "tbody": nil, "tr": nil,
		"th": {"class"}, "td": {"class"}, "code": nil, "span": {"class"}, "script": {"type", "id"},
	}
	names, ok := allowed[x.Name.Local]
	if !ok || x.Name.Space != "" {
		t.Errorf("an element %s", x.Name.Local)
	}
	out := x.Name.Local
	for _, a := range x.Attr {
		if !slices.Contains(names, a.Name.Local) || a.Name.Space != "" {
			t.Errorf("%s has an attribute %s", x.Name.Local, a.Name.Local)
		}
		out += " " + a.Name.Local + "=" + a.Value
	}
	if x.Name.Local == "script" && out != "script type=application/json id=evidence" {
		t.Errorf("a script that runs: %s", out)
	}
	return out
}
