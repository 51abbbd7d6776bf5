package gotemplate_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"text/template"

	"github.com/writ-automation/writ/cmd/cli/internal/gotemplate"
)

const document = `{"runs": [{"id": "run_1", "hosts": {"ok": 2, "failed": 0}, "name": "a <b>", "tags": ["x", "y"]},
	{"id": "run_2", "hosts": null, "name": "", "tags": []}], "count": 2, "big": 12345678901234567890, "half": 0.5,
	"yes": true, "no": false, "none": null, "text": "größe"}`

// execute decodes the document as the command line does, and executes a template.
func execute(t *testing.T, text string) (string, error) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(document))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	parsed, err := gotemplate.Parse(text)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = parsed.Execute(&b, v)
	return b.String(), err
}

// same are templates that text/template executes with the same result.
var same = []string{
	"", "plain", "{{/* a comment */}}", "{{.count}} {{.big}} {{.half}} {{.yes}} {{.none}} {{.absent}} {{.absent.more}}",
	"{{range .runs}}{{.id}} {{.hosts}} {{range .tags}}[{{.}}]{{else}}none{{end}}\n{{end}}",
	"{{range $i, $r := .runs}}{{$i}}={{$r.id}},{{$.count}};{{end}}", "{{range $r := .runs}}{{$r.id}}{{end}}",
	"{{range $k, $v := (index .runs 0).hosts}}{{$k}}={{$v}} {{end}}",
	"{{range .runs}}{{if eq .id \"run_2\"}}{{break}}{{end}}{{.id}}{{end}}",
	"{{range .runs}}{{if eq .id \"run_1\"}}{{continue}}{{end}}{{.id}}{{end}}", "{{range .none}}x{{else}}empty{{end}}",
	"{{with .text}}{{.}}{{end}}{{with .none}}x{{else}}y{{end}}{{with .none}}x{{else with .yes}}{{.}}{{end}}",
	"{{if .no}}a{{else if .yes}}b{{else}}c{{end}}", "{{if and .yes .text}}a{{end}}{{if or .no .none}}b{{end}}",
	"{{and .no .absent.x}} {{or .text .no}} {{not .yes}}", "{{$x := 1}}{{if .yes}}{{$x = 2}}{{end}}{{$x}}",
	"{{if $x := .yes}}{{$x}}{{end}}", "{{len .runs}} {{len .text}} {{.runs | len}}",
	"{{index .runs 1 \"id\"}} {{(index .runs 0).name | html}} {{urlquery .text \"&\"}}",
	"{{slice .text 0 2}} {{slice .text 1}} {{len (slice .runs 1)}}", "{{print 1 2 .text}} {{println .text}}",
	"{{printf \"%s-%03d-%q\" .text 7 \"x\"}} {{.text | printf \"%s/%s\" \"a\"}}",
	"{{lt 1 2}} {{le 2 2}} {{gt 1.5 1.0}} {{ge \"b\" \"a\"}} {{ne 1 2}} {{eq \"a\" \"b\" \"a\"}} {{eq true .yes}}",
	"{{define \"row\"}}<{{.id}}>{{end}}{{range .runs}}{{template \"row\" .}}{{end}}", "{{define \"x\"}}y{{end}}",
	"{{block \"b\" .count}}{{.}}{{end}}", "a {{- 1 -}} b", "{{`raw`}}{{'a'}}{{1e3}}{{true}}",
	"{{(.runs | len) | printf \"%d\"}}",
}

// TestAsTextTemplate compares the results with those of the standard library.
func TestAsTextTemplate(t *testing.T) {
	t.Parallel()
	d := json.NewDecoder(strings.NewReader(document))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	for _, in := range same {
		var want bytes.Buffer
		if err := template.Must(template.New("output").Parse(in)).Execute(&want, v); err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		if got, err := execute(t, in); err != nil || got != want.String() {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want.String())
		}
	}
}

// TestMore shows what text/template does not have: the two functions, and numbers of a document that are numbers.
func TestMore(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{{json (index .runs 0).hosts}} {{json .text}} {{json .none}}": `{"failed":0,"ok":2} "größe" null`,
		"{{(index .runs 0).tags | join \", \"}}":                       "x, y",
		"{{eq .count 2}} {{gt .count 1}} {{lt .half 1}}":               "true true true",
		"{{if (index .runs 0).hosts.failed}}x{{else}}fine{{end}}":      "fine",
		"{{printf \"%03d %.2f\" .count .half}}":                        "002 0.50",
		"{{index .runs .yes.x 0 | len}}":                               "",
	} {
		got, err := execute(t, in)
		if want == "" {
			if err == nil {
				t.Errorf("%s: %q", in, got)
			}
		} else if err != nil || got != want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
}

// TestRefused has templates that cannot be parsed or executed; each error says why.
func TestRefused(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{{.": "illegal", "{{js .}}": "not defined", "{{call .}}": "not defined",
		"{{.text.x}}": "can't evaluate field x", "{{range .text}}{{end}}": "can't iterate",
		"{{len .count}}": "has no length", "{{index .runs 9}}": "out of range",
		"{{index .runs -1}}": "out of range", "{{index .runs \"a\"}}": "out of range",
		"{{index .text 0}}": "has no items", "{{index (index .runs 0) 1}}": "name of a member",
		"{{slice .runs 2 1}}": "invalid slice", "{{slice (index .runs 0)}}": "no order", "{{slice .count}}": "length",
		"{{lt .text 1}}": "can't be compared", "{{.text 1}}": "not a function", "{{1 | .text}}": "not a function",
		"{{len}}": "wrong number", "{{not 1 2}}": "wrong number", "{{printf 1}}": "not a text",
		"{{join \",\" .text}}": "not a list", "{{and}}": "no arguments", "{{not and}}": "no arguments",
		"{{1 | print or}}": "no arguments", "{{template \"x\"}}": "not defined",
		"{{define \"x\"}}{{template \"x\"}}{{end}}{{template \"x\"}}": "nested more than",
	} {
		if got, err := execute(t, in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want)
		}
	}
}
