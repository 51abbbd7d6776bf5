package launch

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// maxRadio is up to how many choices are radio buttons.
const maxRadio = 5

// question is a question of a survey in its stored form.
type question struct {
	Var       string
	Type      catalog.SurveyType
	Label     string
	Help      string
	Required  bool
	Default   any
	Min, Max  *int64
	MinLength *int64 `json:"min_length"`
	MaxLength *int64 `json:"max_length"`
	Pattern   string
	Choices   []string
}

// questions reads a stored survey.
func questions(raw json.RawMessage) ([]question, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var out []question
	if err := d.Decode(&out); err != nil {
		return nil, &fault.Error{Kind: fault.Internal, Message: "the survey of the template cannot be read", Cause: err}
	}
	return out, nil
}

// field returns the field of a question. before is the answer of an earlier run, nil for none.
func (q *question) field(before json.RawMessage) shell.FieldSpec {
	f := shell.FieldSpec{Name: "answers." + q.Var, Label: q.Label, Required: q.Required, Value: q.value(before)}
	if f.Label == "" {
		f.Label = q.Var
	}
	f.Help = strings.TrimSpace(sentence(q.Help) + " " + q.constraint())
	switch q.Type {
	case catalog.MultilineAnswer:
		f.Kind, f.Lines = "area", 3
		f.Name += q.kept()
	case catalog.IntAnswer:
		f.Name, f.Mode = f.Name+":int", "numeric"
	case catalog.BoolAnswer:
		f.Name, f.Kind, f.Required = f.Name+":bool", "check", false
	case catalog.ChoiceAnswer:
		f.Kind = "select"
		if len(q.Choices) <= maxRadio {
			f.Kind = "radio"
		}
		if !q.Required && q.Default == nil {
			f.Choices = append(f.Choices, shell.Choice{Value: "", Label: noAnswer})
		} else if f.Kind == "select" && f.Value == "" {
			f.Choices = append(f.Choices, shell.Choice{Value: "", Label: chooseText})
		}
		f.Choices = append(f.Choices, shell.Choices(q.Choices...)...)
	case catalog.TextAnswer:
		f.Name += q.kept()
		if runs.LooksSecret(q.Var) {
			f.Kind, f.Complete = "password", "off"
		}
	}
	return f
}

// kept returns the type of a field whose emptiness is an answer. An optional text without a default has no answer
// when it is empty.
func (q *question) kept() string {
	if q.Required || q.Default != nil {
		return ":text"
	}
	return ""
}

// value returns what the field has at first: the answer of an earlier run, else the default.
func (q *question) value(before json.RawMessage) string {
	v := q.Default
	if before != nil {
		d := json.NewDecoder(strings.NewReader(string(before)))
		d.UseNumber()
		var answer any
		if d.Decode(&answer) == nil && answer != runs.Redacted {
			v = answer
		}
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// constraint says what an answer has to be, before it is given.
func (q *question) constraint() string {
	var out []string
	if text := between(q.Min, q.Max, ""); text != "" {
		out = append(out, "A whole number, "+text+".")
	} else if q.Type == catalog.IntAnswer {
		out = append(out, "A whole number.")
	}
	if text := between(q.MinLength, q.MaxLength, " characters"); text != "" {
		out = append(out, strings.ToUpper(text[:1])+text[1:]+".")
	}
	if q.Pattern != "" {
		out = append(out, "It matches "+q.Pattern+" as a whole.")
	}
	return strings.Join(out, " ")
}

func between(low, high *int64, unit string) string {
	switch {
	case low != nil && high != nil:
		return strconv.FormatInt(*low, 10) + " to " + strconv.FormatInt(*high, 10) + unit
	case low != nil:
		return "at least " + strconv.FormatInt(*low, 10) + unit
	case high != nil:
		return "at most " + strconv.FormatInt(*high, 10) + unit
	}
	return ""
}

// sentence ends a text with a full stop.
func sentence(s string) string {
	if s = strings.TrimSpace(s); s == "" || strings.ContainsAny(s[len(s)-1:], ".!?:") {
		return s
	}
	return s + "."
}
