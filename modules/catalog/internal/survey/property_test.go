package survey_test

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/catalog/internal/survey"
	"github.com/writ-automation/writ/ports/catalog"
)

var kinds = []catalog.SurveyType{catalog.TextAnswer, catalog.MultilineAnswer, catalog.IntAnswer, catalog.ChoiceAnswer,
	catalog.BoolAnswer, "", "float"}

// anyField draws fields, many of them contradictory.
func anyField(t *rapid.T) catalog.SurveyField {
	small := rapid.Ptr(rapid.Int64Range(-3, 6), true)
	return catalog.SurveyField{
		Var:      rapid.SampledFrom([]string{"a", "b", "c", "d", ""}).Draw(t, "var"),
		Type:     rapid.SampledFrom(kinds).Draw(t, "type"),
		Required: rapid.Bool().Draw(t, "required"), Default: anyAnswer(t, "default"),
		Min: small.Draw(t, "min"), Max: small.Draw(t, "max"), MinLength: small.Draw(t, "min_length"),
		MaxLength: small.Draw(t, "max_length"),
		Pattern:   rapid.SampledFrom([]string{"", "", "a|ab", "[a-c]*", "^b$", "(?s).", "(", "(?i)A"}).Draw(t, "pattern"),
		Choices:   rapid.SampledFrom([][]string{nil, nil, {"a"}, {"", "ab"}, {"a", "a"}}).Draw(t, "choices"),
	}
}

func anyAnswer(t *rapid.T, label string) any {
	return rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), toAny[bool]), rapid.Map(rapid.Int64Range(-4, 7), toAny[int64]),
		rapid.Map(rapid.StringMatching(`[a-cA\n]{0,6}`), toAny[string]),
		rapid.SampledFrom([]any{"\xff", "a\x00", 1.5, 2.0, json.Number("3"), json.Number("1e30"), []any{}, map[string]any{}}),
	).Draw(t, label)
}

func toAny[T any](v T) any { return v }

// TestAcceptedAnswersSatisfy draws surveys and answers, and checks that accepted answers satisfy each constraint, which
// the test implements independently.
func TestAcceptedAnswersSatisfy(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.SliceOfN(rapid.Custom(anyField), 1, 3).Draw(t, "fields")
		if survey.Check(fields) != nil {
			// A survey of one plain field makes enough draws valid.
			fields = []catalog.SurveyField{{Var: "a", Type: rapid.SampledFrom(kinds[:3]).Draw(t, "plain"),
				Required: rapid.Bool().Draw(t, "must")}}
		}
		answers := map[string]any{}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), rapid.ID).
			Draw(t, "names") {
			answers[name] = anyAnswer(t, "answer "+name)
		}
		vars, err := survey.Answer(fields, answers)
		if err != nil {
			if vars != nil {
				t.Fatalf("a refusal gives variables: %v", vars)
			}
			return
		}
		for name := range answers {
			if !slices.ContainsFunc(fields, func(f catalog.SurveyField) bool { return f.Var == name }) {
				t.Fatalf("%s is no question", name)
			}
		}
		for _, f := range fields {
			satisfied(t, f, answers[f.Var], vars)
		}
		if len(vars) > len(fields) {
			t.Fatalf("more variables than questions: %v", vars)
		}
	})
}

func satisfied(t *rapid.T, f catalog.SurveyField, answer any, vars map[string]any) {
	got, ok := vars[f.Var]
	switch {
	case !ok && (f.Required || answer != nil || f.Default != nil):
		t.Fatalf("%s has no value", f.Var)
	case !ok:
		return
	case answer == nil && f.Default == nil:
		t.Fatalf("%s got the value %v from nowhere", f.Var, got)
	}
	switch v := got.(type) {
	case bool:
		if f.Type != catalog.BoolAnswer {
			t.Fatalf("%s of type %s is a bool", f.Var, f.Type)
		}
	case int64:
		if f.Type != catalog.IntAnswer || f.Min != nil && v < *f.Min || f.Max != nil && v > *f.Max {
			t.Fatalf("%+v took %d", f, v)
		}
	case string:
		satisfiedText(t, f, v)
	default:
		t.Fatalf("%s has a value of the type %T", f.Var, got)
	}
}

func satisfiedText(t *rapid.T, f catalog.SurveyField, s string) {
	n := int64(len([]rune(s)))
	bad := !utf8.ValidString(s) || strings.Contains(s, "\x00") || f.Required && s == ""
	switch f.Type {
	case catalog.ChoiceAnswer:
		bad = bad || !slices.Contains(f.Choices, s)
	case catalog.TextAnswer, catalog.MultilineAnswer:
		bad = bad || f.Type == catalog.TextAnswer && strings.Contains(s, "\n") || f.MinLength != nil && n < *f.MinLength ||
			f.MaxLength != nil && n > *f.MaxLength
		if f.Pattern != "" {
			// Use the longest match over the whole text, since a leftmost-first match may stop early.
			re := regexp.MustCompile(f.Pattern)
			re.Longest()
			at := re.FindStringIndex(s)
			bad = bad || at == nil || at[0] != 0 || at[1] != len(s)
		}
	default:
		bad = true
	}
	if bad {
		t.Fatalf("%+v took %q", f, s)
	}
}

// TestCheckedSurveysTravel checks that a survey that Check accepts is unchanged after Encode and Decode.
func TestCheckedSurveysTravel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.SliceOfN(rapid.Custom(anyField), 0, 2).Draw(t, "fields")
		for i := range fields {
			if f, ok := fields[i].Default.(float64); ok {
				fields[i].Default = int64(f)
			}
			if n, ok := fields[i].Default.(json.Number); ok && n != "" {
				fields[i].Default = int64(3)
			}
		}
		if survey.Check(fields) != nil {
			return
		}
		raw, err := survey.Encode(fields)
		if err != nil {
			t.Fatal(err)
		}
		back, err := survey.Decode(raw)
		if err != nil || survey.Check(back) != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if diff := cmp.Diff(fields, back); diff != "" && len(fields) > 0 {
			t.Fatalf("%s\n%s", raw, diff)
		}
	})
}

// TestWholeNumbers compares the parser of whole numbers with exact rational arithmetic.
func TestWholeNumbers(t *testing.T) {
	t.Parallel()
	fields := []catalog.SurveyField{{Var: "n", Type: catalog.IntAnswer}}
	limit := new(big.Rat).SetInt64(1 << 53)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,4}0{0,3})?([eE][-+]?[0-9]{1,2})?`).Draw(t, "number")
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%s is no number", text)
		}
		vars, err := survey.Answer(fields, map[string]any{"n": json.Number(text)})
		want := exact.IsInt() && new(big.Rat).Abs(exact).Cmp(limit) <= 0
		if (err == nil) != want {
			t.Fatalf("%s: %v, want accepted = %v", text, err, want)
		}
		if want && new(big.Rat).SetInt64(vars["n"].(int64)).Cmp(exact) != 0 {
			t.Fatalf("%s became %v", text, vars["n"])
		}
	})
}
