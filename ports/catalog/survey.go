package catalog

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

// SurveyField is one question of a template. Its answer becomes the extra var Var. A nil bound means no bound.
type SurveyField struct {
	Var       string
	Type      SurveyType
	Label     string
	Help      string
	Required  bool
	Default   any // string, int64 or bool, depending on the type; nil for none
	Min, Max  *int64
	MinLength *int64 // in characters
	MaxLength *int64
	Pattern   string // RE2 that must match the whole answer; empty for none
	Choices   []string
}
