package survey

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// Answer converts answers to the extra vars of a launch: a string, an int64 or a bool for each var. Null means no
// answer. A field without an answer takes its default; without a default it has no var, unless it is required. A
// required text or choice must not be empty.
//
// The answers are decoded JSON, with numbers as json.Number or float64; int64 and int are accepted too. On error, vars
// is nil and an Invalid fault names answers.<var> without the answer: an unknown or missing var, or an invalid answer.
func Answer(fields []catalog.SurveyField, answers map[string]any) (vars map[string]any, err error) {
	known := make(map[string]bool, len(fields))
	for _, f := range fields {
		known[f.Var] = true
	}
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		if !known[name] {
			return nil, fault.BadField("answers."+name, "no question of the survey has this var")
		}
	}
	vars = make(map[string]any, len(fields))
	for i, f := range fields {
		answer := answers[f.Var]
		if answer == nil {
			answer = f.Default
		}
		if answer == nil {
			if f.Required {
				return nil, fault.BadField("answers."+f.Var, "is required")
			}
			continue
		}
		pattern, err := compile(f, func(key, format string, args ...any) error {
			return fault.BadField("survey["+strconv.Itoa(i)+"]."+key, format, args...)
		})
		if err != nil {
			return nil, err
		}
		value, wrong := accept(f, pattern, answer)
		if wrong != "" {
			return nil, fault.BadField("answers."+f.Var, "%s", wrong)
		}
		vars[f.Var] = value
	}
	return vars, nil
}

// accept returns the value of an answer, or what is wrong with it.
func accept(f catalog.SurveyField, pattern matcher, answer any) (value any, wrong string) {
	switch f.Type {
	case catalog.IntAnswer:
		return acceptInt(f, answer)
	case catalog.BoolAnswer:
		b, ok := answer.(bool)
		if !ok {
			return nil, "has to be true or false"
		}
		return b, ""
	case catalog.TextAnswer, catalog.MultilineAnswer, catalog.ChoiceAnswer:
	default:
		return nil, "has a type that nobody knows"
	}
	s, ok := answer.(string)
	if !ok {
		return nil, "has to be a text"
	}
	if wrong := textual(s); wrong != "" {
		return nil, wrong
	}
	if s == "" && f.Required {
		return nil, "is required"
	}
	if f.Type == catalog.ChoiceAnswer {
		if !slices.Contains(f.Choices, s) {
			return nil, "has to be one of the choices"
		}
		return s, ""
	}
	return acceptText(f, pattern, s)
}

// matcher is a compiled pattern.
type matcher interface{ MatchString(string) bool }

func acceptText(f catalog.SurveyField, pattern matcher, s string) (value any, wrong string) {
	if f.Type == catalog.TextAnswer && strings.ContainsAny(s, "\r\n") {
		return nil, "has to be one line"
	}
	n := int64(utf8.RuneCountInString(s))
	if f.MinLength != nil && n < *f.MinLength {
		return nil, fmt.Sprintf("has to have at least %d characters", *f.MinLength)
	}
	if f.MaxLength != nil && n > *f.MaxLength {
		return nil, fmt.Sprintf("has to have at most %d characters", *f.MaxLength)
	}
	if f.Pattern != "" && !pattern.MatchString(s) {
		return nil, "has to match the pattern as a whole"
	}
	return s, ""
}

// textual returns what is wrong with a text of any type, empty for nothing.
func textual(s string) string {
	switch {
	case len(s) > maxText:
		return fmt.Sprintf("has to have at most %d bytes", maxText)
	case !utf8.ValidString(s):
		return "has to be text in UTF-8"
	case strings.ContainsRune(s, 0):
		return "has to be a text without U+0000"
	default:
		return ""
	}
}

func acceptInt(f catalog.SurveyField, answer any) (value any, wrong string) {
	n, ok := whole(answer)
	switch {
	case !ok:
		return nil, "has to be a whole number from -2^53 to 2^53"
	case f.Min != nil && n < *f.Min:
		return nil, fmt.Sprintf("has to be at least %d", *f.Min)
	case f.Max != nil && n > *f.Max:
		return nil, fmt.Sprintf("has to be at most %d", *f.Max)
	default:
		return n, ""
	}
}

// whole parses a number without a fraction in any notation: in JSON, 10, 10.0 and 1e1 are the same number.
func whole(answer any) (int64, bool) {
	var n int64
	switch v := answer.(type) {
	case int64:
		n = v
	case int:
		n = int64(v)
	case float64:
		if v != math.Trunc(v) || math.Abs(v) > maxWhole {
			return 0, false
		}
		n = int64(v)
	case json.Number:
		return decimal(string(v))
	default:
		return 0, false
	}
	return n, n >= -maxWhole && n <= maxWhole
}
