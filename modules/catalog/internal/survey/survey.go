// Package survey validates the questions of a template on save, and the answers on launch.
//
// Boundary: it uses no templates, stores or runs. Answer returns either all variables or the fault of the first invalid
// field.
package survey

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// Limits of surveys and answers.
const (
	maxFields  = 100
	maxVar     = 128 // bytes
	maxLabel   = 1000
	maxHelp    = 4000
	maxPattern = 1000
	maxProgram = 4000 // instructions of a compiled pattern, which limit the time of a match
	maxChoices = 1000
	maxText    = 64 << 10 // bytes of an answer, a choice and a default
	maxWhole   = 1 << 53  // whole numbers are between this and its negative, which floats represent exactly
)

// variable matches the variable names that Ansible accepts.
var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Check validates a survey. It refuses a missing or duplicate var, an unknown type, a bound that does not apply to the
// type or excludes every answer, a pattern that is too long or not RE2, missing or duplicate choices, and a default
// that would be an invalid answer. An Invalid fault names survey[i].<key>.
func Check(fields []catalog.SurveyField) error {
	if len(fields) > maxFields {
		return fault.BadField("survey", "has %d fields, at most %d are allowed", len(fields), maxFields)
	}
	seen := make(map[string]int, len(fields))
	for i, f := range fields {
		at := func(key, format string, args ...any) error {
			return fault.BadField("survey["+strconv.Itoa(i)+"]."+key, format, args...)
		}
		if first, ok := seen[f.Var]; ok {
			return at("var", "is the var of survey[%d] too", first)
		}
		seen[f.Var] = i
		if err := checkField(f, at); err != nil {
			return err
		}
	}
	return nil
}

// refusal returns the fault for one key of a field.
type refusal func(key, format string, args ...any) error

func checkField(f catalog.SurveyField, at refusal) error {
	switch {
	case f.Var == "":
		return at("var", "is required")
	case len(f.Var) > maxVar || !variable.MatchString(f.Var):
		return at("var", "has to be at most %d letters, digits and underscores, without a digit first", maxVar)
	case !slices.Contains(types(), f.Type):
		return at("type", "has to be one of text, multiline, int, choice and bool")
	}
	if err := checkText(f.Label, "label", maxLabel, at); err != nil {
		return err
	}
	if err := checkText(f.Help, "help", maxHelp, at); err != nil {
		return err
	}
	if err := checkBounds(f, at); err != nil {
		return err
	}
	if err := checkChoices(f, at); err != nil {
		return err
	}
	pattern, err := compile(f, at)
	if err != nil || f.Default == nil {
		return err
	}
	if _, wrong := accept(f, pattern, f.Default); wrong != "" {
		return at("default", "%s", wrong)
	}
	return nil
}

func types() []catalog.SurveyType {
	return []catalog.SurveyType{catalog.TextAnswer, catalog.MultilineAnswer, catalog.IntAnswer, catalog.ChoiceAnswer,
		catalog.BoolAnswer}
}

func isText(t catalog.SurveyType) bool {
	return t == catalog.TextAnswer || t == catalog.MultilineAnswer
}

// checkText limits the length of a text in characters.
func checkText(s, key string, limit int, at refusal) error {
	if wrong := textual(s); wrong != "" {
		return at(key, "%s", wrong)
	}
	if utf8.RuneCountInString(s) > limit {
		return at(key, "has to have at most %d characters", limit)
	}
	return nil
}

// checkBounds only allows bounds for the types that have them, within the possible answers, and in order.
func checkBounds(f catalog.SurveyField, at refusal) error {
	for _, b := range []struct {
		key         string
		value       *int64
		fits        bool
		least, most int64
	}{
		{"min", f.Min, f.Type == catalog.IntAnswer, -maxWhole, maxWhole},
		{"max", f.Max, f.Type == catalog.IntAnswer, -maxWhole, maxWhole},
		{"min_length", f.MinLength, isText(f.Type), 0, maxText},
		{"max_length", f.MaxLength, isText(f.Type), 0, maxText},
	} {
		switch {
		case b.value == nil:
		case !b.fits:
			return at(b.key, "bounds no answer of the type %s", f.Type)
		case *b.value < b.least || *b.value > b.most:
			return at(b.key, "has to be from %d to %d", b.least, b.most)
		}
	}
	switch {
	case f.Min != nil && f.Max != nil && *f.Min > *f.Max:
		return at("min", "is over max, so no answer could be given")
	case f.MinLength != nil && f.MaxLength != nil && *f.MinLength > *f.MaxLength:
		return at("min_length", "is over max_length, so no answer could be given")
	case f.Required && f.MaxLength != nil && *f.MaxLength == 0:
		return at("max_length", "leaves only the empty text, which is no answer to a required question")
	}
	return nil
}

func checkChoices(f catalog.SurveyField, at refusal) error {
	switch {
	case f.Type != catalog.ChoiceAnswer && len(f.Choices) > 0:
		return at("choices", "belong to the type choice")
	case f.Type == catalog.ChoiceAnswer && len(f.Choices) == 0:
		return at("choices", "are required for the type choice")
	case len(f.Choices) > maxChoices:
		return at("choices", "are %d, at most %d are allowed", len(f.Choices), maxChoices)
	}
	seen := make(map[string]bool, len(f.Choices))
	for _, c := range f.Choices {
		if wrong := textual(c); wrong != "" {
			return at("choices", "%s", wrong)
		}
		if seen[c] {
			return at("choices", "have %q twice", c)
		}
		seen[c] = true
	}
	if f.Type == catalog.ChoiceAnswer && f.Required && len(f.Choices) == 1 && f.Choices[0] == "" {
		return at("choices", "leave only the empty text, which is no answer to a required question")
	}
	return nil
}

// compile compiles the pattern, nil if there is none. It must match the whole answer; a newline does not end the match.
func compile(f catalog.SurveyField, at refusal) (*regexp.Regexp, error) {
	switch {
	case f.Pattern == "":
		return nil, nil
	case !isText(f.Type):
		return nil, at("pattern", "bounds no answer of the type %s", f.Type)
	case !utf8.ValidString(f.Pattern) || utf8.RuneCountInString(f.Pattern) > maxPattern:
		return nil, at("pattern", "has to have at most %d characters", maxPattern)
	}
	// Parse the pattern by itself first: a pattern such as a)(b is only valid inside of the parentheses that are added.
	tree, err := syntax.Parse(f.Pattern, syntax.Perl)
	if err != nil {
		return nil, at("pattern", "is no RE2: %v", err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, at("pattern", "is no RE2: %v", err)
	}
	if len(program.Inst) > maxProgram {
		return nil, at("pattern", "repeats too much: it makes %d instructions, at most %d are allowed", len(program.Inst),
			maxProgram)
	}
	re, err := regexp.Compile(`\A(?:` + f.Pattern + `)\z`)
	if err != nil {
		return nil, at("pattern", "is no RE2: %v", err)
	}
	return re, nil
}
