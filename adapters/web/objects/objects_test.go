package objects

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/secrets"
)

// testDocument has one kind of records with what the API's document has.
const testDocument = `{"paths":{
 "/v1/things":{"post":{"operationId":"create-thing","x-access":"thing:write",
   "requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/New"}}}},
   "responses":{"201":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Made"}}}}}}},
 "/v1/things/{id}":{"get":{"operationId":"get-thing","x-access":"thing:read",
   "responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Read"}}}}}},
   "delete":{"operationId":"delete-thing","x-access":"thing:write"}},
 "/v1/runs/{id}":{"get":{"operationId":"get-run"},"put":{"operationId":"x"}},
 "/v1/things/{id}/parts/{part}":{"get":{"operationId":"get-part"},"put":{"operationId":"update-part"}}},
 "components":{"schemas":{
 "New":{"type":"object","required":["name"],"x-order":["name","size"],"properties":{
   "name":{"type":"string"},"size":{"type":["integer","null"],"minimum":0,"maximum":10},"on":{"type":"boolean"},
   "id":{"type":"string","readOnly":true},"labels":{"type":"object","additionalProperties":{"type":"string"}},
   "modes":{"type":"array","items":{"type":"string","enum":["a","b"]}},
   "steps":{"type":"array","items":{"type":"object"}},
   "match":{"type":"object","properties":{"tools":{"type":"array","items":{"type":"string"}}}},
   "level":{"type":"string","enum":["low","high"]},"any":{},"password":{"type":"string"},"ratio":{"type":"number"}}},
 "Read":{"type":"object","properties":{"name":{"type":"string"}}},
 "Made":{"type":"object","properties":{"name":{"type":"string"},"token":{"type":"string"},
   "warnings":{"type":"array"}}}}}}`

func testBuilder(t *testing.T) *builder {
	t.Helper()
	d := &document{}
	if err := json.Unmarshal([]byte(testDocument), d); err != nil {
		t.Fatal(err)
	}
	return &builder{r: &shell.Request{}, doc: d, kind: kinds(d)["things"], fresh: true, lists: map[string]*choiceList{},
		table: table{Noun: "a thing", Expand: []string{"match"}}}
}

func TestKindsFollowTheDocument(t *testing.T) {
	t.Parallel()
	b := testBuilder(t)
	if n := len(kinds(b.doc)); n != 1 {
		t.Errorf("%d kinds, expected things alone", n)
	}
	k := b.kind
	if k.Create.ID != "create-thing" || k.Create.Kind != "thing" || k.Create.Act != "write" || k.Update != nil ||
		k.Delete.ID != "delete-thing" || k.Key != "id" || !slices.Equal(k.Secrets, []string{"token"}) {
		t.Errorf("the kind is %+v", k)
	}
}

func TestFieldsFollowTheSchema(t *testing.T) {
	t.Parallel()
	b := testBuilder(t)
	b.stored = map[string]any{"labels": map[string]any{"b": "2", "a": "1"}, "size": json.Number("7"),
		"match": map[string]any{"tools": []any{"x", "y"}}, "modes": []any{"b"}, "password": "never shown"}
	got := map[string]field{}
	for _, f := range b.fields(b.kind.Create.Body, "", b.stored) {
		got[f.Name] = f
	}
	for name, check := range map[string]func(field) bool{
		"name": func(f field) bool { return f.Required && f.Label == "Name" },
		"size:int": func(f field) bool {
			return f.Value == "7" && strings.HasSuffix(f.Help, "From 0 to 10.")
		},
		"on:bool":           func(f field) bool { return f.Kind == "check" },
		"labels:pairs":      func(f field) bool { return f.Value == "a=1\nb=2" },
		"modes:many":        func(f field) bool { return f.Widget == "picks" && slices.Equal(f.Values, []string{"b"}) },
		"steps:json":        func(f field) bool { return f.Kind == "area" },
		"match.tools:lines": func(f field) bool { return f.Value == "x\ny" },
		"level":             func(f field) bool { return f.Kind == "select" && f.Choices[0].Value == "" },
		"any:json":          func(f field) bool { return f.Mono },
		"password":          func(f field) bool { return f.Kind == "password" && f.Value == "" },
		"ratio:number":      func(f field) bool { return f.Mode == "decimal" },
	} {
		if f, ok := got[name]; !ok || !check(f) {
			t.Errorf("the field %s is %+v (%v)", name, f, ok)
		}
	}
	if len(got) != 11 {
		t.Errorf("%d fields: %v", len(got), got)
	}
	if first := b.fields(b.kind.Create.Body, "", nil)[0].Member; first != "name" {
		t.Errorf("the first field is %s", first)
	}
}

func TestPairsThatLinesCannotHold(t *testing.T) {
	t.Parallel()
	for _, v := range []any{map[string]any{"a": "x\ny"}, map[string]any{"a=b": "x"}, map[string]any{"a": true}, []any{}} {
		if text, ok := pairsOf(v); ok {
			t.Errorf("%v is written as %q", v, text)
		}
	}
}

func TestChangedSince(t *testing.T) {
	t.Parallel()
	b := testBuilder(t)
	before := sumsOf(map[string]any{"name": "a", "size": json.Number("1"), "gone": "x", "same": []any{"q"},
		"updated_at": "1"})
	b.stored = map[string]any{"name": "b", "size": json.Number("1"), "same": []any{"q"}, "new": true, "updated_at": "2"}
	want := []changed{{"Gone", ""}, {"Name", "b"}, {"New", "true"}}
	if got := b.changedSince(before); !slices.Equal(got, want) {
		t.Errorf("changed: %v, expected %v", got, want)
	}
}

func TestSecretsOfKindsHaveNoValue(t *testing.T) {
	t.Parallel()
	b := testBuilder(t)
	b.stored = map[string]any{"settings": map[string]any{"username": "deploy", "password": "leak", "private_key": "leak"}}
	for _, fresh := range []bool{true, false} {
		b.fresh = fresh
		for _, k := range secrets.Kinds() {
			hidden, shown := b.builtIn(k)
			if len(hidden)+len(shown) < len(k.Members()) {
				t.Errorf("%s: a member has no field", k)
			}
			for _, f := range hidden {
				if f.Value != "" {
					t.Errorf("%s: the field %s has the value %q", k, f.Name, f.Value)
				}
			}
		}
	}
}

// values are those of attributes, in which quotes are escaped.
var values = regexp.MustCompile(`"[^"]*"`)

var unsafe = regexp.MustCompile(`(?i)<script|<img|<[a-z][^<>]*\s(style|on[a-z]+)=`)

var ids = regexp.MustCompile(`\sid="([^"]*)"`)

func TestFormEscapesHostileTexts(t *testing.T) {
	t.Parallel()
	ctx := shell.WithViewer(t.Context(), shell.Viewer{}, time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC))
	for _, text := range []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "\u202egnp.exe",
		strings.Repeat("x", 255), "</textarea><script>"} {
		b := testBuilder(t)
		b.stored = map[string]any{"name": text, "labels": map[string]any{"k": text}, "modes": []any{text}, "level": text,
			"steps": []any{map[string]any{"name": text}}}
		v := view{Title: text, About: text, Home: "/ui/", Button: text, Secrets: text, Sums: text, Stale: true,
			Changed: []changed{{text, text}}, Groups: []group{{Name: text, Folded: true, Fields: b.fields(b.kind.Create.Body, "",
				b.stored)}}, Form: shell.Form{Operation: "create-thing", Page: text, ID: "record"},
			Delete: &deletion{Title: text, Ask: text, UsedBy: []use{{Kind: text, Name: text, Target: "/ui/"}}}}
		v.Groups[0].Fields = append(v.Groups[0].Fields, field{Widget: "cron", FieldSpec: shell.FieldSpec{Name: "cron",
			Value: text}, Fires: &fires{Notes: []string{text}}})
		var out strings.Builder
		if err := formPage(v).Render(ctx, &out); err != nil {
			t.Fatal(err)
		}
		if m := unsafe.FindString(values.ReplaceAllString(out.String(), `""`)); m != "" {
			t.Errorf("%q gives %q", text, m)
		}
		seen := map[string]bool{}
		for _, m := range ids.FindAllStringSubmatch(out.String(), -1) {
			if seen[m[1]] {
				t.Errorf("the id %s is there twice", m[1])
			}
			seen[m[1]] = true
		}
	}
}
