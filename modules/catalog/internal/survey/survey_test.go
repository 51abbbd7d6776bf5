package survey_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/catalog/internal/survey"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// location returns the field that a fault names, and fails the test for other errors than Invalid faults.
func location(t *testing.T, err error) string {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Fields) != 1 {
		t.Fatalf("got %v, want an Invalid fault of one field", err)
	}
	return f.Fields[0].Location
}

func decode(t *testing.T, text string) []catalog.SurveyField {
	t.Helper()
	fields, err := survey.Decode(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

// TestCheckRefuses has one contradiction per case; location is the field of the fault.
// Keeps T18.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[{"type":"text"}]`:                                                                  "survey[0].var",
		`[{"var":"1a","type":"text"}]`:                                                       "survey[0].var",
		`[{"var":"a b","type":"text"}]`:                                                      "survey[0].var",
		`[{"var":"a\n","type":"text"}]`:                                                      "survey[0].var",
		`[{"var":"a","type":"text"},{"var":"a","type":"int"}]`:                               "survey[1].var",
		`[{"var":"a"}]`:                                                                      "survey[0].type",
		`[{"var":"a","type":"Text"}]`:                                                        "survey[0].type",
		`[{"var":"a","type":"text","label":"a\u0000"}]`:                                      "survey[0].label",
		`[{"var":"a","type":"int","min":2,"max":1}]`:                                         "survey[0].min",
		`[{"var":"a","type":"text","min":1}]`:                                                "survey[0].min",
		`[{"var":"a","type":"bool","max":1}]`:                                                "survey[0].max",
		`[{"var":"a","type":"int","min_length":1}]`:                                          "survey[0].min_length",
		`[{"var":"a","type":"text","min_length":-1}]`:                                        "survey[0].min_length",
		`[{"var":"a","type":"text","min_length":3,"max_length":2}]`:                          "survey[0].min_length",
		`[{"var":"a","type":"text","max_length":65537}]`:                                     "survey[0].max_length",
		`[{"var":"a","type":"text","required":true,"max_length":0}]`:                         "survey[0].max_length",
		`[{"var":"a","type":"text","pattern":"("}]`:                                          "survey[0].pattern",
		`[{"var":"a","type":"text","pattern":"a)(b"}]`:                                       "survey[0].pattern",
		`[{"var":"a","type":"text","pattern":"(?=a)"}]`:                                      "survey[0].pattern",
		`[{"var":"a","type":"text","pattern":"(x{1000}){1000}"}]`:                            "survey[0].pattern",
		`[{"var":"a","type":"text","pattern":"` + many("x{999}", 20) + `"}]`:                 "survey[0].pattern",
		`[{"var":"a","type":"text","pattern":"` + many("x", 1001) + `"}]`:                    "survey[0].pattern",
		`[{"var":"a","type":"int","pattern":"1"}]`:                                           "survey[0].pattern",
		`[{"var":"a","type":"choice"}]`:                                                      "survey[0].choices",
		`[{"var":"a","type":"choice","choices":["x","x"]}]`:                                  "survey[0].choices",
		`[{"var":"a","type":"text","choices":["x"]}]`:                                        "survey[0].choices",
		`[{"var":"a","type":"choice","choices":["x"],"default":"y"}]`:                        "survey[0].default",
		`[{"var":"a","type":"int","min":2,"default":1}]`:                                     "survey[0].default",
		`[{"var":"a","type":"int","default":"2"}]`:                                           "survey[0].default",
		`[{"var":"a","type":"bool","default":1}]`:                                            "survey[0].default",
		`[{"var":"a","type":"text","default":true}]`:                                         "survey[0].default",
		`[{"var":"a","type":"text","pattern":"[a-z]","default":"ab"}]`:                       "survey[0].default",
		`[{"var":"a","type":"text","default":"a\nb"}]`:                                       "survey[0].default",
		`[{"var":"a","type":"text","required":true,"default":""}]`:                           "survey[0].default",
		`[{"var":"b","type":"int"},{"var":"a","type":"text","max_length":1,"default":"ab"}]`: "survey[1].default",
	} {
		if err := survey.Check(decode(t, text)); err == nil || location(t, err) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if err := survey.Check(make([]catalog.SurveyField, 101)); err == nil || location(t, err) != "survey" {
		t.Errorf("101 fields: %v", err)
	}
}

func many(s string, n int) string { return strings.Repeat(s, n) }

// TestDecodeRefuses checks the location of unknown members and wrong types.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`: "survey", `[`: "survey", `"x"`: "survey", `[1]`: "survey[0]", `[null]`: "survey[0]", `[[]]`: "survey[0]",
		`[{"var":"a","kind":"text"}]`:      "survey[0].kind",
		`[{"Var":"a"}]`:                    "survey[0].Var",
		`[{"var":"a"},{"required":"yes"}]`: "survey[1].required",
		`[{"var":"a","var":"b"}]`:          "survey[0].var",
		`[{"var":1}]`:                      "survey[0].var",
		`[{"type":[]}]`:                    "survey[0].type",
		`[{"min":1.5}]`:                    "survey[0].min",
		`[{"max":"1"}]`:                    "survey[0].max",
		`[{"max":9007199254740993}]`:       "survey[0].max",
		`[{"min_length":1e99}]`:            "survey[0].min_length",
		`[{"default":{}}]`:                 "survey[0].default",
		`[{"default":0.5}]`:                "survey[0].default",
		`[{"choices":"a"}]`:                "survey[0].choices",
		`[{"choices":["a",1]}]`:            "survey[0].choices",
		"[{\"var\":\"\xff\"}]":             "survey",
	} {
		if _, err := survey.Decode(json.RawMessage(text)); err == nil || location(t, err) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestDecodeExact checks that values stay exact, also after Encode.
func TestDecodeExact(t *testing.T) {
	t.Parallel()
	most, one, none := int64(1)<<53, int64(1), int64(0)
	want := []catalog.SurveyField{
		{Var: "n", Type: catalog.IntAnswer, Label: "N", Help: "h", Required: true, Default: most, Min: &none, Max: &most},
		{Var: "t", Type: catalog.TextAnswer, MinLength: &one, MaxLength: &one, Pattern: "[<é>]", Default: "é"},
		{Var: "c", Type: catalog.ChoiceAnswer, Choices: []string{"", "x"}, Default: ""},
		{Var: "b", Type: catalog.BoolAnswer, Default: false},
	}
	got := decode(t,
		`[{"var":"n","type":"int","label":"N","help":"h","required":true,"default":9007199254740992,"min":0.0,"max":9007199254740992},
		{"var":"t","type":"text","min_length":1,"max_length":1e0,"pattern":"[<é>]","default":"é","help":null,"choices":null},
		{"var":"c","type":"choice","choices":["","x"],"default":""},{"var":"b","type":"bool","default":false,"required":null}]`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := survey.Check(got); err != nil {
		t.Error(err)
	}
	raw, err := survey.Encode(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, decode(t, string(raw))); diff != "" {
		t.Errorf("%s\n%s", raw, diff)
	}
	for _, nothing := range []string{"", "null", " [] "} {
		if got := decode(t, nothing); len(got) != 0 {
			t.Errorf("%q: %v", nothing, got)
		}
	}
}

const questions = `[{"var":"t","type":"text","pattern":"a+|b","max_length":3},{"var":"m","type":"multiline","min_length":2},
	{"var":"i","type":"int","min":-1,"max":10,"default":3},{"var":"c","type":"choice","choices":["x","y"]},
	{"var":"b","type":"bool"},{"var":"r","type":"text","required":true}]`

// TestAnswer gives one answer in addition to the required one, and checks the named var or the value.
func TestAnswer(t *testing.T) {
	t.Parallel()
	fields := decode(t, questions)
	for _, c := range []struct {
		name   string
		answer any
		want   any // nil means refused
	}{
		{"t", "aaa", "aaa"}, {"t", "b", "b"}, {"t", "ab", nil}, {"t", "b\n", nil}, {"t", "aaaa", nil}, {"t", 1.0, nil},
		{"t", "\xff", nil}, {"t", "", nil},
		{"m", "a\nb", "a\nb"}, {"m", "é", nil}, {"m", "éé", "éé"}, {"m", "a\x00b", nil}, {"m", many("x", 64<<10+1), nil},
		{"i", json.Number("10"), int64(10)}, {"i", json.Number("1e1"), int64(10)}, {"i", json.Number("10.50e1"), nil},
		{"i", json.Number("-1.0"), int64(-1)},
		{"i", json.Number("11"), nil}, {"i", json.Number("-2"), nil}, {"i", json.Number("0.5"), nil}, {"i", "3", nil},
		{"i", true, nil},
		{"i", 4.0, int64(4)}, {"i", 4.5, nil}, {"i", math.NaN(), nil}, {"i", math.Inf(1), nil}, {"i", 5, int64(5)},
		{"i", int64(6), int64(6)},
		{"i", json.Number(""), nil}, {"i", json.Number("-"), nil}, {"i", json.Number("1e999999999999"), nil},
		{"i", json.Number("x"), nil}, {"i", json.Number("0e5"), int64(0)},
		{"c", "x", "x"}, {"c", "z", nil}, {"c", "", nil}, {"c", 1, nil},
		{"b", true, true}, {"b", false, false}, {"b", "true", nil}, {"b", 1.0, nil}, {"b", []any{}, nil},
		{"r", "", nil}, {"r", nil, nil}, {"q", "x", nil}, {"T", "b", nil},
	} {
		answers := map[string]any{"r": "given"}
		answers[c.name] = c.answer
		vars, err := survey.Answer(fields, answers)
		switch {
		case c.want == nil && (err == nil || location(t, err) != "answers."+c.name || vars != nil):
			t.Errorf("%s = %v: %v, %v", c.name, c.answer, vars, err)
		case c.want != nil && (err != nil || vars[c.name] != c.want):
			t.Errorf("%s = %v: %v, %v", c.name, c.answer, vars, err)
		}
		if s, ok := c.answer.(string); err != nil && ok && len(s) > 4 && strings.Contains(err.Error(), s) {
			t.Errorf("the fault repeats the answer: %v", err)
		}
	}
}

// TestAnswerDefaults checks that defaults replace missing answers, and that vars without a default are omitted.
func TestAnswerDefaults(t *testing.T) {
	t.Parallel()
	got, err := survey.Answer(decode(t, questions), map[string]any{"r": "x", "i": nil, "t": nil})
	if diff := cmp.Diff(map[string]any{"r": "x", "i": int64(3)}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := survey.Answer(nil, map[string]any{"x": 1}); err == nil || location(t, err) != "answers.x" {
		t.Errorf("an answer without a question: %v", err)
	}
	if got, err := survey.Answer(nil, nil); err != nil || got == nil || len(got) != 0 {
		t.Errorf("nothing asked: %v, %v", got, err)
	}
}
