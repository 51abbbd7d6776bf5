package catalog

import "encoding/json"

// SurveyType is the type of an answer.
type SurveyType string

// The types of answers.
const (
	TextAnswer      SurveyType = "text"
	MultilineAnswer SurveyType = "multiline"
	IntAnswer       SurveyType = "int"
	ChoiceAnswer    SurveyType = "choice"
	BoolAnswer      SurveyType = "bool"
)

// SurveyField is one question of a template. Its answer becomes the extra var Var. A nil bound is none.
type SurveyField struct {
	Var       string
	Type      SurveyType
	Label     string
	Help      string
	Required  bool
	Default   any // string, int64 or bool, as the answer would be; nil is none
	Min, Max  *int64
	MinLength *int64 // in characters
	MaxLength *int64
	Pattern   string // RE2 that the whole answer has to match; empty is none
	Choices   []string
}

// Surveys checks questions when a template is saved, and answers when it is launched.
type Surveys interface {
	// Decode reads questions strictly and checks them. Invalid faults name survey[i].<key>.
	Decode(raw json.RawMessage) ([]SurveyField, error)
	Encode(fields []SurveyField) (json.RawMessage, error)
	// Answer returns the variables that the answers become, defaults included. An Invalid fault names answers.<var> and repeats
	// no answer; nothing is returned beside it.
	Answer(fields []SurveyField, answers map[string]any) (map[string]any, error)
}
