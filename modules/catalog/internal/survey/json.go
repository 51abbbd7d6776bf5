package survey

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// maxSurvey is the maximum size of a survey in bytes of JSON.
const maxSurvey = 4 << 20

// Decode parses a survey from JSON, a list of objects; null and empty input are an empty survey. It only checks the
// names and the types of the members; Check validates their values. A null member counts as absent. An Invalid fault
// names survey, survey[i] or survey[i].<key>: an unknown key, a duplicate key, a wrong type.
func Decode(raw json.RawMessage) ([]catalog.SurveyField, error) {
	if len(raw) > maxSurvey {
		return nil, fault.BadField("survey", "has %d bytes, at most %d are allowed", len(raw), maxSurvey)
	}
	if !utf8.Valid(raw) {
		return nil, fault.BadField("survey", "has to be text in UTF-8")
	}
	if len(bytes.TrimSpace(raw)) == 0 || string(bytes.TrimSpace(raw)) == "null" {
		return nil, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fault.BadField("survey", "has to be a list of fields")
	}
	if len(list) > maxFields {
		return nil, fault.BadField("survey", "has %d fields, at most %d are allowed", len(list), maxFields)
	}
	fields := make([]catalog.SurveyField, len(list))
	for i := range list {
		if err := decodeField("survey["+strconv.Itoa(i)+"]", list[i], &fields[i]); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

func decodeField(at string, raw json.RawMessage, f *catalog.SurveyField) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return fault.BadField(at, "has to be an object")
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return fault.BadField(at, "has to be an object")
		}
		key, _ := t.(string)
		if seen[key] {
			return fault.BadField(at+"."+key, "occurs twice")
		}
		seen[key] = true
		var value any
		if err := dec.Decode(&value); err != nil && !errors.Is(err, io.EOF) {
			return fault.BadField(at+"."+key, "is no JSON")
		}
		if wrong := assign(f, key, value); wrong != "" {
			return fault.BadField(at+"."+key, "%s", wrong)
		}
	}
	return nil
}

// assign sets one member, or returns what is wrong with it.
func assign(f *catalog.SurveyField, key string, value any) (wrong string) {
	switch key {
	case "var":
		return text(&f.Var, value)
	case "type":
		return text((*string)(&f.Type), value)
	case "label":
		return text(&f.Label, value)
	case "help":
		return text(&f.Help, value)
	case "pattern":
		return text(&f.Pattern, value)
	case "required":
		b, ok := value.(bool)
		if f.Required = b; !ok && value != nil {
			return "has to be true or false"
		}
	case "default":
		return anyDefault(f, value)
	case "min":
		return bound(&f.Min, value)
	case "max":
		return bound(&f.Max, value)
	case "min_length":
		return bound(&f.MinLength, value)
	case "max_length":
		return bound(&f.MaxLength, value)
	case "choices":
		return choices(f, value)
	default:
		return "is no key of a survey field"
	}
	return ""
}

func text(to *string, value any) string {
	s, ok := value.(string)
	if *to = s; !ok && value != nil {
		return "has to be a text"
	}
	return ""
}

func bound(to **int64, value any) string {
	if value == nil {
		return ""
	}
	n, ok := whole(value)
	if *to = &n; !ok {
		return "has to be a whole number from -2^53 to 2^53"
	}
	return ""
}

// anyDefault keeps whole numbers exact; Check validates the type of the default.
func anyDefault(f *catalog.SurveyField, value any) string {
	switch v := value.(type) {
	case nil, string, bool:
		f.Default = v
	case json.Number:
		n, ok := whole(v)
		if f.Default = n; !ok {
			return "has to be a text, true, false, or a whole number from -2^53 to 2^53"
		}
	default:
		return "has to be a text, true, false, or a whole number from -2^53 to 2^53"
	}
	return ""
}

func choices(f *catalog.SurveyField, value any) string {
	list, ok := value.([]any)
	if !ok && value != nil {
		return "has to be a list of texts"
	}
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			return "has to be a list of texts"
		}
		f.Choices = append(f.Choices, s)
	}
	return ""
}

// document is the JSON form of a field.
type document struct {
	Var       string   `json:"var"`
	Type      string   `json:"type"`
	Label     string   `json:"label,omitempty"`
	Help      string   `json:"help,omitempty"`
	Required  bool     `json:"required,omitempty"`
	Default   any      `json:"default,omitempty"`
	Min       *int64   `json:"min,omitempty"`
	Max       *int64   `json:"max,omitempty"`
	MinLength *int64   `json:"min_length,omitempty"`
	MaxLength *int64   `json:"max_length,omitempty"`
	Pattern   string   `json:"pattern,omitempty"`
	Choices   []string `json:"choices,omitempty"`
}

// Encode returns the JSON of a survey in the form of Decode, without empty members. An empty survey is an empty list.
// It returns no error for a survey that Check accepts.
func Encode(fields []catalog.SurveyField) (json.RawMessage, error) {
	docs := make([]document, len(fields))
	for i, f := range fields {
		docs[i] = document{f.Var, string(f.Type), f.Label, f.Help, f.Required, f.Default, f.Min, f.Max, f.MinLength,
			f.MaxLength, f.Pattern, f.Choices}
	}
	raw, err := json.Marshal(docs)
	if err != nil {
		return nil, fmt.Errorf("survey: encode: %w", err)
	}
	return raw, nil
}

// decimal parses a JSON number exactly, without floats. It refuses a number with a fraction after the exponent is
// applied.
func decimal(s string) (int64, bool) {
	const longest = 400 // digits; sufficient for every number within the bounds
	if len(s) > longest {
		return 0, false
	}
	rest, negative := strings.CutPrefix(s, "-")
	mantissa, power := rest, 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		p, err := strconv.Atoi(strings.TrimPrefix(rest[i+1:], "+"))
		if err != nil || p > longest || p < -longest {
			return 0, false
		}
		mantissa, power = rest[:i], p
	}
	before, after, _ := strings.Cut(mantissa, ".")
	digits, zeros := before+after, power-len(after)
	if zeros >= 0 {
		digits += strings.Repeat("0", zeros)
	} else {
		cut := max(0, len(digits)+zeros)
		if strings.Trim(digits[cut:], "0") != "" {
			return 0, false
		}
		digits = digits[:cut]
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return 0, before+after != ""
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > maxWhole {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n, true
}
