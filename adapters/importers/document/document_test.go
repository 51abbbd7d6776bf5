package document_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
)

type shape struct {
	Name string   `json:"name"`
	List []string `json:"list"`
	N    int      `json:"n"`
}

func readJSON(body []byte) (v any, err error) { err = document.JSON(body, &v); return v, err }

func readYAML(body []byte) (v any, err error) { err = document.YAML(body, &v); return v, err }

func readXML(body []byte) (any, error) { return document.XML(body) }

func TestJSON(t *testing.T) {
	v, err := readJSON([]byte("\xef\xbb\xbf{\"a\": [1, 12345678901234567890, \"]}\\\"\", null, true]}\n"))
	want := map[string]any{"a": []any{json.Number("1"), json.Number("12345678901234567890"), `]}"`, nil, true}}
	if err != nil || !reflect.DeepEqual(v, want) {
		t.Errorf("value %#v, %v", v, err)
	}
	var s shape
	err = document.JSON([]byte(`{"name": "x", "n": 2, "other": {}}`), &s)
	if err != nil || s.Name != "x" || s.N != 2 {
		t.Errorf("value %+v, %v", s, err)
	}
}

// Both notations give the same faults, which name the line where it is known.
func TestFaults(t *testing.T) {
	for body, want := range map[string]string{
		"{\"a\": 1,\n\"b\": }":            "line 2: the JSON is not valid",
		"{\"a\": 1\n":                     "line 2: the JSON ends too early",
		"":                                "the JSON ends too early",
		"{}\n{}":                          "line 2: text follows the JSON value",
		"{}]":                             "text follows the JSON value",
		"\n{\"n\": \"canary\"}":           `line 2: "n" is of the type string, which does not belong there`,
		"[]":                              "a value of the type array does not belong there",
		"{\"n\": 12345678901234567890}":   `"n" is of the type number, which does not belong there`,
		"{\"list\": [\"a\", {\"b\": 1}]}": `"list" is of the type object`,
		"\"\xff\"":                        "the text is not UTF-8",
	} {
		var s shape
		expect(t, "JSON", body, document.JSON([]byte(body), &s), want)
	}
	for body, want := range map[string]string{
		"a: 1\nb: [":            "line 2: the YAML is not valid",
		"a: *b":                 "the YAML is not valid",
		"":                      "the document is empty",
		"# nothing":             "the document is empty",
		"a: 1\n---\nb: 2":       "line 2: a second YAML document follows",
		"a: 1\n---\nb: [":       "the YAML is not valid",
		"n: canary":             `"n" is of the type string, which does not belong there`,
		"- a":                   "a value of the type array does not belong there",
		"name: x\nname: y":      "line 2: a key of the YAML occurs twice",
		"a: 1\n? [b]\n: 2":      "line 2: a key of the YAML is not a text",
		"a: &a [*a]":            "line 1: the YAML nests deeper than 200 levels, or refers to itself",
		"a: &a [*a, *a]":        "refers to itself",
		"a: &a {<<: *a}":        "refers to itself",
		"\xff\xfea\x00":         "the text is not UTF-8",
		"a: \x00":               "the YAML is not valid",
		"!!binary canary: true": "",
	} {
		var s shape
		expect(t, "YAML", body, document.YAML([]byte(body), &s), want)
	}
}

func expect(t *testing.T, kind, body string, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("%s %q: %v", kind, body, err)
		}
		return
	}
	if !importer.Malformed.Is(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s %q: %v, want %s", kind, body, err, want)
		return
	}
	var f *fault.Error
	if errors.As(err, &f); strings.HasPrefix(want, "line") && (len(f.Fields) != 1 ||
		!strings.HasPrefix(want, f.Fields[0].Location)) {
		t.Errorf("%s %q: the fault has the fields %v", kind, body, f.Fields)
	}
	if strings.Contains(err.Error(), "canary") {
		t.Errorf("%s %q: the fault shows a value: %v", kind, body, err)
	}
}

func TestYAML(t *testing.T) {
	for body, want := range map[string]string{
		"a: 1\nb: 0x10\nc: -3\nd: 1_000":               `{"a":1,"b":16,"c":-3,"d":1000}`,
		"a: 1.50\nb: +2.5\nc: .inf\nd: 1e3\ne: .5":     `{"a":1.50,"b":2.5,"c":".inf","d":1e3,"e":0.5}`,
		"a: 123456789012345678901234567890":            `{"a":123456789012345678901234567890}`,
		"a: true\nb: yes\nc: 'true'\nd: null\ne: ~":    `{"a":true,"b":"yes","c":"true","d":null,"e":null}`,
		"a: 2024-01-02\nb: !ruby/object:X y\nc: 07:30": `{"a":"2024-01-02","b":"y","c":"07:30"}`,
		"- &x {k: 1}\n- *x\n- <<: *x\n  l: 2":          `[{"k":1},{"k":1},{"k":1,"l":2}]`,
		"a: &a {k: 1, l: 1}\nb: {k: 2, <<: *a}":        `{"a":{"k":1,"l":1},"b":{"k":2,"l":1}}`,
		"a: &a {k: 1}\nb: {<<: *a, k: 2}":              `{"a":{"k":1},"b":{"k":2}}`,
		"b: {<<: [{k: 1}, {k: 2, l: 3}]}":              `{"b":{"k":1,"l":3}}`,
		"b: {<<: text}\n'<<': 1":                       `{"\u003c\u003c":1,"b":{}}`,
		"1: a\ntrue: b\n~: c":                          `{"1":"a","true":"b","~":"c"}`,
		"&k key: 1\nother: *k":                         `{"key":1,"other":"key"}`,
		"text: |\n  a: b\n  - c\n":                     `{"text":"a: b\n- c\n"}`,
		"{\"a\": [1, \"x\"]}":                          `{"a":[1,"x"]}`,
		"\xef\xbb\xbf---\r\na: 1\r\n...\r\n":           `{"a":1}`,
		"a: 1\n---\n":                                  `{"a":1}`,
	} {
		v, err := readYAML([]byte(body))
		text, _ := json.Marshal(v)
		if err != nil || string(text) != want {
			t.Errorf("%q is %s, %v, want %s", body, text, err, want)
		}
		var raw json.RawMessage
		if err := document.YAML([]byte(body), &raw); err != nil {
			t.Errorf("%q: %v", body, err)
		}
	}
	var s shape
	err := document.YAML([]byte("name: x\nlist: [a, 'b']\nn: 3"), &s)
	if err != nil || s.N != 3 || len(s.List) != 2 {
		t.Errorf("value %+v, %v", s, err)
	}
}

// nested returns text that opens n times and closes as often.
func nested(start, end string, n int) string {
	return strings.Repeat(start, n) + strings.Repeat(end, n)
}

// fill returns a body of the largest size that repeats a text.
func fill(text string) string { return strings.Repeat(text, importer.MaxBody/len(text)) }

// laughs returns YAML whose aliases expand to width to the power of depth values.
func laughs(value string, width, depth int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 " + value + "\n")
	for i := range depth {
		n, next := string(rune('0'+i)), string(rune('1'+i))
		list := strings.TrimSuffix(strings.Repeat("*a"+n+", ", width), ", ")
		b.WriteString("a" + next + ": &a" + next + " [" + list + "]\n")
	}
	return b.String()
}

// soon is for a document that is refused before its end, or is small.
const soon = 1

// plainTime is the time to read a document of the largest size in which nothing is odd. The fastest of three counts.
func plainTime() time.Duration {
	body := []byte("[" + strings.Repeat("1,", importer.MaxBody/2) + "1]")
	took := time.Duration(math.MaxInt64)
	for range 3 {
		start := time.Now()
		_ = json.Valid(body)
		took = min(took, time.Since(start))
	}
	return took
}

// TestBounds refuses hostile documents in bounded work: at most so many times what a plain document takes.
func TestBounds(t *testing.T) {
	entity := `<!DOCTYPE a [<!ENTITY l0 "lol">` + strings.Repeat(`<!ENTITY l1 "&l0;&l0;&l0;&l0;">`, 20) + `]><a>&l1;</a>`
	longKey := strings.Repeat("k", 1<<20)
	tests := map[string]struct {
		read func([]byte) (any, error)
		body string
		most time.Duration // times a plain document
	}{
		"JSON depth":               {readJSON, nested("[", "]", 201), soon},
		"JSON depth, large":        {readJSON, fill("["), 10},
		"JSON depth, objects":      {readJSON, fill(`{"a":`), 10},
		"JSON objects":             {readJSON, "[" + fill("{},"), 10},
		"JSON numbers":             {readJSON, "[" + fill("1,"), 10},
		"YAML laughs":              {readYAML, laughs("lol", 10, 9), 10},
		"YAML laughs, text":        {readYAML, laughs(strings.Repeat("x", 1<<20), 10, 3), 10},
		"YAML laughs, keys":        {readYAML, laughs("{"+longKey+": 1}", 10, 3), 10},
		"YAML laughs, merge keys":  {readYAML, laughs("{? "+longKey+", <<: {k: 1}}", 10, 3), 10},
		"YAML depth":               {readYAML, nested("[", "]", 300), 10},
		"YAML depth, block":        {readYAML, strings.Repeat("- ", 300) + "a", 10},
		"YAML depth, large":        {readYAML, fill("["), 10},
		"YAML values":              {readYAML, fill("- a\n"), 10},
		"YAML values, one line":    {readYAML, "[" + fill("a,"), 10},
		"YAML members":             {readYAML, fill("a: b\n"), 10},
		"YAML anchors":             {readYAML, fill("- &a b\n"), 10},
		"YAML comments":            {readYAML, fill("#\n"), 50},
		"XML laughs":               {readXML, entity, soon},
		"XML external entity":      {readXML, `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///x">]><a>&x;</a>`, soon},
		"XML external type":        {readXML, `<!DOCTYPE a SYSTEM "http://127.0.0.1/a.dtd"><a/>`, soon},
		"XML type inside":          {readXML, `<a><!DOCTYPE b></a>`, soon},
		"XML parameter entity":     {readXML, `<!DOCTYPE a [<!ENTITY % p SYSTEM "x">%p;]><a/>`, soon},
		"XML unknown entity":       {readXML, `<a>&nbsp;</a>`, soon},
		"XML depth":                {readXML, nested("<a>", "</a>", 201), soon},
		"XML depth, large":         {readXML, fill("<a>"), 10},
		"XML elements":             {readXML, "<a>" + fill("<b/>"), 50},
		"XML elements, attributes": {readXML, "<a>" + fill(`<b c=""/>`), 50},
		"XML attributes":           {readXML, "<a" + fill(` b=""`), 10},
		"XML open":                 {readXML, "<a><b></b>", soon},
		"XML crossed":              {readXML, "<a><b></a></b>", soon},
		"XML two":                  {readXML, "<a/><b/>", soon},
		"XML text":                 {readXML, "text", soon},
		"XML text after":           {readXML, "<a/>text", soon},
		"XML none":                 {readXML, "", soon},
		"XML zero":                 {readXML, "<a>\x00</a>", soon},
		"XML zero, reference":      {readXML, "<a>&#0;</a>", soon},
		"XML two bytes each":       {readXML, "<\x00a\x00/\x00>\x00", soon},
	}
	plain := plainTime()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			most := test.most * plain
			took := most + 1
			var err error
			for range 3 { // another process may take the time of one
				runtime.ReadMemStats(&before)
				start := time.Now()
				_, err = test.read([]byte(test.body))
				took = min(took, time.Since(start))
				runtime.ReadMemStats(&after)
				if took <= most {
					break
				}
			}
			if !importer.Malformed.Is(err) || len(err.Error()) > 300 {
				t.Errorf("fault %v, want a short malformed_export", err)
			}
			if took > most {
				t.Errorf("it took %v, more than %d times %v", took, test.most, plain)
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 450 {
				t.Errorf("it allocated %d MiB", used)
			}
		})
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a": [1, "b", null, {"c": false}]}`))
	f.Fuzz(func(t *testing.T, body []byte) { check(t, body, readJSON) })
}

func FuzzYAML(f *testing.F) {
	f.Add([]byte("a: &x {k: 1}\nb: {<<: *x, l: [1, 2.5, ~]}\nc: |\n  text\n"))
	f.Add([]byte(laughs("x", 3, 3)))
	f.Fuzz(func(t *testing.T, body []byte) { check(t, body, readYAML) })
}

func FuzzXML(f *testing.F) {
	f.Add([]byte("<?xml version='1.1' encoding='UTF-8'?>\n<a b=\"c\"><d>&#x1;text<![CDATA[<&#1;>]]></d></a>"))
	f.Add([]byte("<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe9</a>"))
	f.Fuzz(func(t *testing.T, body []byte) { check(t, body, readXML) })
}

// check checks that a body is read, or refused as malformed.
func check(t *testing.T, body []byte, read func([]byte) (any, error)) {
	v, err := read(body)
	if err != nil {
		if !importer.Malformed.Is(err) {
			t.Fatalf("an error that is no fault of a document: %v", err)
		}
		return
	}
	if _, err := json.Marshal(v); err != nil {
		t.Fatalf("a value that is not plain: %v", err)
	}
}

// TestPlainLines: a few plain lines, which are read without the parser, have the values that it gives them when a
// comment keeps them from that.
func TestPlainLines(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"a: b", "ansible_host: 192.0.2.1\n", "---\nport: 22\nuser: root\n", "a: 0", "a: 007", "a: 1.5", "a: 1.2.3", "a: yes",
		"a: Off", "a: nULL", "a: y", "true: x", "no: 1", "a: 123456789012345678", "a: 1234567890123456789012", "a: e3",
		"a: -1", "a: x y", "a: x#y", "a: x: y", "a:  x", "a: x ", "a: ", "a:", "a", "", "---\n", "a: b\n\n", "a: b\r\n",
		"a: @x", "a: x@y", "a: 2026-01-01", "a: 0x1", "a: a.b/c", "a: .nan", "a: NaN", "a: inf", "a: b\n c: d", "a: b\nc",
	} {
		var got, want any
		err := document.YAML([]byte(text), &got)
		parsed := document.YAML([]byte(text+"\n# not plain\n"), &want)
		if d := cmp.Diff(want, got); d != "" || (err == nil) != (parsed == nil) {
			t.Errorf("%q: %v, %v: %s", text, err, parsed, d)
		}
	}
	var v any
	if err := document.YAML([]byte("a: b\na: c\n"), &v); !importer.Malformed.Is(err) {
		t.Errorf("a key that occurs twice: %v %v", v, err)
	}
}
