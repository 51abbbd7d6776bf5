package jcs

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	independent "github.com/gowebpki/jcs"
	"pgregory.net/rapid"
)

// anyValue draws a value that both implementations take.
func anyValue(depth int) *rapid.Generator[any] {
	drawn := rapid.OneOf(rapid.String(),
		rapid.StringOfN(rapid.RuneFrom([]rune("a\"\\/\x01\t\u007f\u00e9\u20ac\ufb33\U0001f600")), 0, 8, -1))
	text := rapid.Map(drawn, func(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "") })
	kinds := []*rapid.Generator[any]{
		text.AsAny(), rapid.Bool().AsAny(),
		rapid.Int64Range(-MaxInteger, MaxInteger).AsAny(), rapid.Int64Range(-9, 9).AsAny(),
	}
	if depth > 0 {
		kinds = append(kinds,
			rapid.SliceOfN(anyValue(depth-1), 0, 5).AsAny(), rapid.MapOfN(text, anyValue(depth-1), 0, 5).AsAny())
	}
	return rapid.OneOf(kinds...)
}

func TestAgreesWithAnotherLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := map[string]any{"v": anyValue(3).Draw(t, "value")}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		want, err := independent.Transform(text)
		if err != nil {
			t.Fatal(err)
		}
		strict := Form{Negative: true}
		got, err := strict.Append(nil, v)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s, want %s, %v", got, want, err)
		}
		if got, err = strict.Transform(nil, text); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("of the text: %s, want %s, %v", got, want, err)
		}
	})
}

func TestForms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		form Form
		text string
		want string // empty where it is refused
	}{
		"null":               {Form{}, `null`, ""},
		"null allowed":       {Form{Null: true}, `[null]`, `[null]`},
		"fraction":           {Form{Negative: true}, `1.5`, ""},
		"fraction written":   {Form{Written: true}, `1.50`, `1.50`},
		"exponent":           {Form{}, `1e3`, ""},
		"below zero":         {Form{}, `-1`, ""},
		"below zero allowed": {Form{Negative: true}, `-9007199254740991`, `-9007199254740991`},
		"beyond":             {Form{Negative: true}, `9007199254740992`, ""},
		"far beyond":         {Form{Negative: true}, `99999999999999999999`, ""},
		"signed zero":        {Form{Negative: true}, `-0`, ""},
		"U+0000":             {Form{}, `"\u0000"`, ""},
		"U+0000 allowed":     {Form{NUL: true}, `"a\u0000b"`, `"a\u0000b"`},
		"two values":         {Form{}, `1 2`, ""},
		"too deep":           {Form{Depth: 1}, `[[1]]`, ""},
		"deep enough":        {Form{Depth: 2}, `[[1]]`, `[[1]]`},
		"too long":           {Form{Bytes: 3}, `["a","b","c"]`, ""},
		"mended": {Form{Text: func(string) string { return "x" }, Name: func(string) string {
			return "y"
		}}, `{"a":"b"}`, `{"y":"x"}`},
		"order of UTF-16": {Form{}, `{"\ufb33":1,"\ud83d\ude00":2,"a":3}`, "{\"a\":3,\"\U0001f600\":2,\"\ufb33\":1}"},
	} {
		got, err := c.form.Transform(nil, []byte(c.text))
		if (err == nil) != (c.want != "") || string(got) != c.want {
			t.Errorf("%s: %s, %v, want %q", name, got, err, c.want)
		}
	}
	for _, v := range []any{1.5, float64(1 << 53), uint64(1 << 60), struct{}{}, -1, map[string]any{"a": []any{nil}}} {
		if got, err := (Form{}).Append(nil, v); err == nil {
			t.Errorf("%v is %s", v, got)
		}
	}
	if got, err := (Form{}).Append(nil, map[string]any{"b": []string{"x"}, "a": map[string]string{"k": "v"},
		"c": []int64{1}, "d": 2.0}); err != nil || string(got) != `{"a":{"k":"v"},"b":["x"],"c":[1],"d":2}` {
		t.Errorf("%s, %v", got, err)
	}
}
