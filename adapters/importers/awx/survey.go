package awx

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of a survey, those of the server.
const (
	maxQuestions = 100
	maxVar       = 128 // bytes
	maxTitle     = 1000
	maxHelp      = 4000
	maxOptions   = 1000
	maxWhole     = 1 << 53
)

// decimal is the pattern of a question for a number with a fraction.
const decimal = `[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?`

var (
	variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	fraction = lazyregexp.New(`^(` + decimal + `)$`)
)

// questions returns the survey of a template.
func questions(o *importer.Object, list []any) []importer.Question {
	var out []importer.Question
	seen := map[string]bool{}
	for _, v := range list {
		r := newRecord("", v)
		name := r.line("variable")
		at, kind := "related.survey_spec."+shown(name), r.line("type")
		switch {
		case len(out) == maxQuestions:
			draft.Need(o, "related.survey_spec", "Only %d questions are kept.", maxQuestions)
			return out
		case !variable.MatchString(name) || len(name) > maxVar || seen[name]:
			draft.Need(o, at, "The question is left out: its variable has no valid name, or an earlier question has it.")
			continue
		case reserved.Variable(name):
			draft.Need(o, at, "The question is left out: the name of its variable is reserved.")
			continue
		case kind == "password":
			draft.Need(o, at, "The question is left out: no question asks for a secret; use a credential.")
			continue
		}
		seen[name] = true
		q := importer.Question{Var: name, Label: short(r.text("question_name"), maxTitle),
			Help: short(r.text("question_description"), maxHelp), Required: r.flag("required")}
		if !shape(o, at, &q, kind, r) {
			continue
		}
		preset(o, at, &q, r.take("default"))
		r.rest(o, at+".")
		out = append(out, q)
	}
	if len(out) > 0 {
		draft.Map(o, "%s became the survey.", draft.Count(len(out), "question"))
	}
	return out
}

// short returns at most limit characters of a text.
func short(s string, limit int) string {
	s = strings.TrimSpace(strings.ReplaceAll(s, "\x00", ""))
	if utf8.RuneCountInString(s) > limit {
		s = string([]rune(s)[:limit])
	}
	return s
}

// shape sets the type of a question with its bounds and choices. It reports false for a question that is left out.
func shape(o *importer.Object, at string, q *importer.Question, kind string, r *record) bool {
	low, high := bound(r.take("min")), bound(r.take("max"))
	if zero := new(int64); kind == "integer" && low == nil && high != nil && *high > 0 && text(r.take("min")) == "0" {
		low = zero
	}
	if low != nil && high != nil && *low > *high {
		draft.Need(o, at+".min", "The bounds are left out, because no answer is within them.")
		low, high = nil, nil
	}
	choices := r.take("choices")
	switch kind {
	case "integer":
		q.Type, q.Min, q.Max = "int", low, high
	case "float":
		q.Type, q.Pattern = "text", decimal
		draft.Warn(o, at, "The answer is a text with the form of a number, and its bounds are not checked.")
	case "multiplechoice":
		q.Type, q.Choices = "choice", options(choices)
		if len(q.Choices) == 0 || len(q.Choices) > maxOptions {
			draft.Need(o, at+".choices", "The question is left out: it has no choices, or more than %d.", maxOptions)
			return false
		}
	case "multiselect":
		q.Type = "multiline"
		draft.Need(o, at, "The answer is a text with a choice on each line, and the play gets no list: %s.",
			listed(options(choices)))
	default:
		q.Type = "text"
		if kind == "textarea" {
			q.Type = "multiline"
		} else if kind != "text" {
			draft.Warn(o, at, "The type of the question is not known here, and became a text.")
		}
		q.MinLength, q.MaxLength = length(low), length(high)
	}
	return true
}

// bound returns a bound of a question, nil for none. The product writes none as 0, null or an empty text.
func bound(v any) *int64 {
	n, err := strconv.ParseInt(text(v), 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(text(v), 64)
		if err != nil || math.Abs(f) > maxWhole {
			return nil
		}
		n = int64(f)
	}
	if n == 0 || n > maxWhole || n < -maxWhole {
		return nil
	}
	return &n
}

func length(n *int64) *int64 {
	if n == nil || *n < 0 || *n > maxPart {
		return nil
	}
	return n
}

// options returns choices that are a list, or a text with one on each line.
func options(v any) []string {
	list, ok := v.([]any)
	if !ok {
		for line := range strings.SplitSeq(text(v), "\n") {
			list = append(list, line)
		}
	}
	var out []string
	seen := map[string]bool{}
	for _, item := range list {
		if s := strings.TrimSpace(text(item)); s != "" && !seen[s] && object.Line(s, maxPart) && len(s) <= maxPart {
			seen[s], out = true, append(out, s)
		}
	}
	return out
}

// preset sets the default of a question, if the server takes it.
func preset(o *importer.Object, at string, q *importer.Question, v any) {
	if blank(v) && text(v) != "0" {
		return
	}
	if list, ok := v.([]any); ok && q.Type == "multiline" {
		v = strings.Join(options(list), "\n")
	}
	if s := text(v); hidden(s) || runs.LooksSecret(q.Var) {
		draft.Need(o, at+".default", "The default is left out, because it is a secret.")
		return
	}
	value, ok := answer(q, v)
	if !ok {
		draft.Need(o, at+".default", "The default is left out, because the server does not take it as an answer.")
		return
	}
	q.Default = value
}

// answer returns the answer to a question that a value is, and whether the server takes it.
func answer(q *importer.Question, v any) (any, bool) {
	s := text(v)
	switch q.Type {
	case "int":
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		ok := err == nil && n >= -maxWhole && n <= maxWhole && (q.Min == nil || n >= *q.Min) && (q.Max == nil || n <= *q.Max)
		return n, ok
	case "choice":
		return s, slices.Contains(q.Choices, s)
	}
	n := int64(utf8.RuneCountInString(s))
	ok := (s != "" || !q.Required) && len(s) <= maxPart && !strings.ContainsRune(s, 0) &&
		(q.Type == "multiline" || !strings.ContainsAny(s, "\r\n")) &&
		(q.MinLength == nil || n >= *q.MinLength) && (q.MaxLength == nil || n <= *q.MaxLength) &&
		(q.Pattern == "" || fraction.MatchString(s))
	switch v.(type) {
	case map[string]any, []any, nil:
		return s, false
	}
	return s, ok
}
