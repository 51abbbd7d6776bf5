package document_test

import (
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/ports/importer"
)

func TestXML(t *testing.T) {
	e, err := document.XML([]byte("\xef\xbb\xbf<?xml version='1.1' encoding='UTF-8'?>\n<!-- a -->\n" +
		"<job:a xmlns:job=\"u\">\n" +
		"  <b id=\"1\" job:k='&lt;x&gt;'> one &amp;<!-- c --> two </b>\n  <b><c>&#65;&#x1;&#31;&#10;</c></b>" +
		"<d><![CDATA[<x> &#1; &amp;]]> &#2;<![CDATA[]]></d></job:a>\n"))
	if err != nil {
		t.Fatal(err)
	}
	if e.Name != "a" || e.Line != 3 || len(e.Children) != 3 || e.Children[1].Line != 5 {
		t.Errorf("root %q on line %d with %d children", e.Name, e.Line, len(e.Children))
	}
	b := e.Child("b")
	if b.Text != " one & two " || e.Value("b") != "one & two" || b.Attr("id") != "1" || b.Attr("k") != "<x>" {
		t.Errorf("element %+v", b)
	}
	if got := e.All("b"); len(got) != 2 || got[1].Find("c").Text != "A\n" {
		t.Errorf("elements %+v", got)
	}
	if got := e.Value("d"); got != "<x> &#1; &amp;" {
		t.Errorf("text of a section is %q", got)
	}
	var none *document.Element
	if e.Find("b", "x", "y") != nil || e.Value("x") != "" || none.Attr("a") != "" || none.Child("a") != nil ||
		none.All("a") != nil {
		t.Error("elements that are absent have content")
	}
}

func TestXMLEncodings(t *testing.T) {
	for body, want := range map[string]string{
		"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe9\xfc</a>":       "éü",
		"<?xml version=\"1.1\" encoding=\"iso-8859-1\" ?><a>&#x1;\xe9</a>": "é",
		"<?xml version='1.0' encoding='utf-8'?><a>é</a>":                   "é",
		"<?xml version='1.0' encoding='us-ascii'?><a>e</a>":                "e",
		"<?xml version='1.0'?>\r\n<a>é\r\n</a>":                            "é",
		"<a>é</a>":                                                         "é",
	} {
		e, err := document.XML([]byte(body))
		if err != nil {
			t.Errorf("%q: %v", body, err)
		} else if got := strings.TrimSpace(e.Text); got != want {
			t.Errorf("%q has the text %q, want %q", body, got, want)
		}
	}
	for _, body := range []string{
		"<?xml version='1.0' encoding='utf-8'?><a>\xe9</a>", "<?xml version='1.0' encoding='UTF-16'?><a>\xe9</a>",
	} {
		if _, err := document.XML([]byte(body)); !importer.Malformed.Is(err) {
			t.Errorf("%q: %v, want malformed_export", body, err)
		}
	}
}

func TestXMLFaultsNameLines(t *testing.T) {
	for body, want := range map[string]string{
		"<?xml version='1.1'\n?>\n<a>\n<b></a>":   `line 4: the XML closes "a" where it is not open`,
		"<?xml version='1.1'?>\n<a>\n<b x=1></b>": "line 3: the XML is not valid",
		"<a>\n<b>":             `line 2: the XML does not close "b"`,
		"<a>\n\n&x;</a>":       "line 3: the XML is not valid",
		"\n<!DOCTYPE a>\n<a/>": "line 2: the XML has a document type",
	} {
		_, err := document.XML([]byte(body))
		expect(t, "XML", body, err, want)
	}
}

func BenchmarkXML(b *testing.B) {
	body := []byte("<a>" + strings.Repeat("<job><name>some name</name><command>echo one &amp; two</command></job>\n",
		importer.MaxBody/72) + "</a>")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := document.XML(body); err != nil {
			b.Fatal(err)
		}
	}
}
