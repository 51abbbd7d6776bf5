package jenkins

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/reserved"
)

// The limits of surveys.
const (
	maxQuestions = 100
	maxVariable  = 128
	maxLabel     = 1000
	maxHelp      = 4000
	maxAnswer    = 64 << 10
	maxChoices   = 1000
	maxPattern   = 1000
	maxProgram   = 4000
)

// export is a variable of the environment of scripts, whose value is that of an answer, or a text.
type export struct{ name, answer, text string }

// parameters reads the parameters of a job.
func (w *work) parameters(list *document.Element) {
	for _, e := range list.Children {
		if len(w.t.Survey) == maxQuestions {
			need(w.o, short(list.Name), "A survey has at most %d questions; the other parameters are left out.", maxQuestions)
			return
		}
		w.parameter(e)
	}
}

func (w *work) parameter(e *document.Element) {
	name, kind := e.Value("name"), simple(e.Name)
	q := importer.Question{Type: "text", Label: cut(name, maxLabel), Help: cut(e.Value("description"), maxHelp)}
	value := text(e.Child("defaultValue"))
	known := []string{"name", "description", "defaultValue", "trim"}
	switch kind {
	case "StringParameterDefinition":
	case "TextParameterDefinition":
		q.Type = "multiline"
	case "BooleanParameterDefinition":
		q.Type, q.Default = "bool", value == "true"
	case "ChoiceParameterDefinition":
		known = append(known, "choices")
		w.choices(&q, literals(e.Child("choices")))
	case "PasswordParameterDefinition", "NonStoredPasswordParamDefinition":
		w.secretParameter(e, name)
		return
	case "FileParameterDefinition", "CredentialsParameterDefinition", "RunParameterDefinition":
		need(w.o, paramField(name), "A parameter of the type %s is no question of a survey; it is left out.", kind)
		return
	case "ValidatingStringParameterDefinition":
		known = append(known, "regex")
		w.pattern(&q, e.Value("regex"))
	case "ExtendedChoiceParameterDefinition":
		known = append(known, "value", "type", "multiSelectDelimiter", "visibleItemCount", "quoteValue")
		w.extended(&q, e, value)
	default:
		warn(w.o, paramField(name), "The values of a parameter of the type %s are not known here; it became a text.", kind)
	}
	w.restAt(paramField(name), e, known...)
	w.ask(q, name, value)
}

// ask adds a question and gives scripts its answer under the name of the parameter.
func (w *work) ask(q importer.Question, name, value string) {
	q.Var = w.variable(name)
	if q.Default == nil && value != "" {
		w.preset(&q, name, value)
	}
	w.t.Survey = append(w.t.Survey, q)
	draft.Map(w.o, "The parameter %s became the question %s.", cut(name, 100), q.Var)
}

// preset sets the default of a question that is a text.
func (w *work) preset(q *importer.Question, name, value string) {
	field := paramField(name)
	switch {
	case secretName(name):
		need(w.o, field, "The default is left out because it may be a secret.")
		return
	case len(value) > maxAnswer:
		warn(w.o, field, "The default is longer than %d bytes and left out.", maxAnswer)
		return
	case q.Pattern != "" && !regexp.MustCompile(`\A(?:`+q.Pattern+`)\z`).MatchString(value):
		warn(w.o, field, "The default does not match the pattern and is left out.")
		return
	case q.Type == "choice" && !slices.Contains(q.Choices, value):
		warn(w.o, field, "The default is none of the choices and left out.")
		return
	case q.Type == "text" && strings.ContainsAny(value, "\r\n"):
		q.Type = "multiline"
	}
	q.Default = value
}

// variable returns the name of a variable for a parameter, which no other question has.
func (w *work) variable(name string) string {
	field := paramField(name)
	v := identifier(name)
	same := v == name
	if reserved.Variable(v) {
		v, same = "PARAM_"+v, false
		need(w.o, field, "The name is reserved; scripts have to read %s instead.",
			"WRIT_VAR_"+strings.ToUpper(cut(v, maxVariable)))
	} else if !same {
		warn(w.o, field, "The name is no name of a variable; it became %s.", cut(v, maxVariable))
	}
	v = cut(v, maxVariable-8)
	base := v
	for n := 2; w.vars[strings.ToUpper(v)] != ""; n++ {
		v, same = base+"_"+itoa(n), false
		need(w.o, field, "Another parameter has this name; it became %s.", v)
	}
	w.vars[strings.ToUpper(v)] = v
	if same && v == name {
		w.exports = append(w.exports, export{name: name, answer: "WRIT_VAR_" + strings.ToUpper(v)})
	}
	return v
}

// identifier returns a name with underscores for what a variable cannot have.
func identifier(name string) string {
	out := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, cut(name, maxVariable))
	if out == "" || out[0] >= '0' && out[0] <= '9' {
		out = "_" + out
	}
	return out
}

// choices sets the choices of a question, of which the first is the default.
func (w *work) choices(q *importer.Question, list []string) {
	seen := map[string]bool{}
	for _, c := range list {
		if len(c) <= maxAnswer && !seen[c] && len(q.Choices) < maxChoices {
			q.Choices, seen[c] = append(q.Choices, c), true
		}
	}
	if len(q.Choices) == 0 {
		warn(w.o, paramField(q.Label), "The choice has no values, so it became a text.")
		return
	}
	if len(q.Choices) < len(list) {
		warn(w.o, paramField(q.Label), "Choices that occur twice, or are too many or too long, are left out.")
	}
	q.Type, q.Default = "choice", q.Choices[0]
}

// extended sets a question for a parameter of the plugin for extended choices.
func (w *work) extended(q *importer.Question, e *document.Element, value string) {
	delimiter := e.Value("multiSelectDelimiter")
	if delimiter == "" {
		delimiter = ","
	}
	list := strings.Split(e.Value("value"), delimiter)
	kind := strings.TrimPrefix(e.Value("type"), "PT_")
	switch kind {
	case "SINGLE_SELECT", "RADIO":
		if e.Value("value") != "" {
			first := value
			w.choices(q, list)
			if q.Default = nil; first == "" && len(q.Choices) > 0 && kind == "SINGLE_SELECT" {
				q.Default = q.Choices[0]
			}
		}
	case "TEXTBOX":
	default:
		warn(w.o, paramField(q.Label), "Several values can be chosen; the question is a text with %q between them.",
			cut(delimiter, 10))
		q.Help = cut(strings.TrimSpace(q.Help+" Several of: "+e.Value("value")), maxHelp)
	}
}

// pattern sets the pattern of a question if it is one that the server accepts.
func (w *work) pattern(q *importer.Question, pattern string) {
	if pattern == "" {
		return
	}
	if !acceptable(pattern) {
		warn(w.o, paramField(q.Label), "The pattern of the answer is not RE2 and left out.")
		return
	}
	q.Pattern = pattern
}

func acceptable(pattern string) bool {
	if utf8.RuneCountInString(pattern) > maxPattern {
		return false
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return false
	}
	program, err := syntax.Compile(tree.Simplify())
	return err == nil && len(program.Inst) <= maxProgram
}

// secretParameter makes a credential of a parameter that is a password: a survey has no secret answers.
func (w *work) secretParameter(e *document.Element, name string) {
	if w.full(e) {
		return
	}
	id := w.j.full + " " + name
	token := w.credential("token", id, map[string]any{"env_name": identifier(name)},
		"The password that a build asks for, without its default; the same for every run.")
	w.use(token)
	need(w.o, paramField(name), "A password is no question of a survey; scripts get it from the credential %s.", token)
	w.restAt(paramField(name), e, "name", "description", "defaultValue")
}

// secretName reports whether a variable of this name may have a secret.
func secretName(name string) bool { return secrets.MatchString(cut(name, 200)) }

var secrets = lazyregexp.New(`(?i)pass(wd|word|phrase)?\b|pass(wd|word|phrase)|_pass|pwd|secret|token|api_?key|` +
	`private_?key|credential|auth`)

func paramField(name string) string { return "parameters/" + cut(name, 100) }

// text returns the text of an element as it is, empty for nil.
func text(e *document.Element) string {
	if e == nil {
		return ""
	}
	return e.Text
}

// literals returns the texts of all string elements below an element, or its lines.
func literals(e *document.Element) []string {
	if e == nil {
		return nil
	}
	if len(e.Children) == 0 {
		if strings.TrimSpace(e.Text) == "" {
			return nil
		}
		return strings.Split(strings.TrimSpace(e.Text), "\n")
	}
	var out []string
	for _, c := range e.Children {
		if c.Name == "string" {
			out = append(out, c.Text)
		} else if len(c.Children) > 0 {
			out = append(out, literals(c)...)
		}
	}
	return out
}
