package rundeck

import (
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
)

// The bounds of surveys.
const (
	maxQuestions = 100
	maxVar       = 128
	maxLabel     = 1000
	maxHelp      = 4000
	maxPattern   = 1000
	maxProgram   = 4000
	maxChoices   = 1000
	maxAnswer    = 64 << 10
)

// option is an option of a job.
type option struct {
	name     string
	env      string             // the variable of the environment in which scripts find it
	question *importer.Question // nil for a secure option and one that cannot be asked for
	secure   bool
}

// readOptions reads the options: a list, or an object by their names.
func (j *job) readOptions(r *reader, v any) {
	list, ok := v.([]any)
	if byName := asFields(v); byName != nil {
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			f := asFields(byName[name])
			if f == nil {
				f = fields{}
			}
			f["name"] = name
			list = append(list, map[string]any(f))
		}
	} else if !ok && set(v) {
		j.need("options", "the options are neither a list nor an object, and are not kept")
	}
	envs := map[string]bool{}
	for i, x := range list {
		at := "options[" + strconv.Itoa(i) + "]"
		f := asFields(x)
		name := f.text("name")
		switch {
		case name == "":
			j.need(at, "an option without a name is not kept")
		case j.option(name) != nil:
			j.need(at, "the option %s occurs twice; the second is not kept", oneLine(name))
		default:
			o := &option{name: name}
			j.options = append(j.options, o)
			j.readOption(r, o, f, envs, "options."+oneLine(name))
		}
	}
}

func (j *job) option(name string) *option {
	for _, o := range j.options {
		if o.name == name {
			return o
		}
	}
	return nil
}

func (j *job) readOption(r *reader, o *option, f fields, envs map[string]bool, at string) {
	f.drop("sortIndex", "newoption", "multivalueAllSelected")
	if o.secure = f.flag("secure", false) || f.flag("secureInput", false); o.secure {
		j.secureOption(r, o, f, at)
		return
	}
	if f.text("type") == "file" || set(f["configMap"]) {
		o.env = "WRIT_VAR_" + reserved.Upper(variable(o.name))
		j.need(at, "the option takes a file, which no question does: put the file into a project or a credential")
		return
	}
	if len(j.spec.Survey) == maxQuestions {
		j.need(at, "the option is not kept: a template has at most %d questions", maxQuestions)
		return
	}
	q := &importer.Question{Var: variable(o.name), Type: "text", Required: f.flag("required", false),
		Label: short(f.text("label"), maxLabel), Help: short(f.text("description"), maxHelp)}
	for n := 2; envs[reserved.Upper(q.Var)]; n++ {
		q.Var = variable(o.name) + "_" + strconv.Itoa(n)
	}
	envs[reserved.Upper(q.Var)] = true
	o.env, o.question = "WRIT_VAR_"+reserved.Upper(q.Var), q
	if q.Var != o.name {
		j.warn(at, "the option %s is asked for as %s, since its name is not one that a variable may have",
			oneLine(o.name), q.Var)
	}
	if q.Label == "" && q.Var != o.name {
		q.Label = short(oneLine(o.name), maxLabel)
	}
	j.choices(q, f, at)
	j.form(q, f, at)
	j.standard(q, f, at)
	if f.flag("hidden", false) {
		j.warn(at+".hidden", "the option is hidden in Rundeck, and is a question here")
	}
	f.drop("type", "optionType", "enforced", "enforcedvalues", "sortValues", "valuesListDelimiter", "valuesType")
	j.lost(f, at)
	j.spec.Survey = append(j.spec.Survey, *q)
	j.say("The option %s is the question %s of the type %s; scripts find the answer in $%s.", oneLine(o.name), q.Var,
		q.Type, o.env)
}

// choices reads the values of an option. Enforced values are choices, or a pattern where several may be chosen.
func (j *job) choices(q *importer.Question, f fields, at string) {
	separator := ","
	if d, ok := f["valuesListDelimiter"]; ok && plainText(d) != "" {
		separator = plainText(d)
	}
	var values []string
	for _, v := range commaList(f.take("values"), separator) {
		if len(v) <= maxAnswer && !slices.Contains(values, v) && len(values) < maxChoices {
			values = append(values, v)
		}
	}
	enforced := f.flag("enforced", f.flag("enforcedvalues", false))
	delimiter := f.raw("delimiter")
	if delimiter == "" {
		delimiter = ","
	}
	several := f.flag("multivalued", false)
	for _, from := range []string{"valuesUrl", "remoteUrl", "valuesFromPlugin", "optionValuesPluginType"} {
		if set(f.take(from)) {
			j.warn(at+"."+from, "the values come from elsewhere, which a question cannot ask; any text is taken")
		}
	}
	switch {
	case several && enforced && len(values) > 0:
		quoted := make([]string, len(values))
		for i, v := range values {
			quoted[i] = regexp.QuoteMeta(v)
		}
		one := "(?:" + strings.Join(quoted, "|") + ")"
		j.pattern(q, one+"(?:"+regexp.QuoteMeta(delimiter)+one+")*", at+".values")
	case enforced && len(values) > 0:
		q.Type, q.Choices = "choice", values
	case len(values) > 0:
		j.warn(at+".values", "the values are suggestions, which a question has not; they are in its help")
		hint := "Suggested: " + strings.Join(values, ", ")
		q.Help = short(strings.TrimSpace(q.Help+"\n"+hint), maxHelp)
	}
	if several {
		j.warn(at+".multivalued", "several values are one text with %q between them", oneLine(delimiter))
		hint := "Several values are written with " + strconv.Quote(delimiter) + " between them."
		q.Help = short(strings.TrimSpace(q.Help+"\n"+hint), maxHelp)
	}
}

// form reads the form that an answer must have.
func (j *job) form(q *importer.Question, f fields, at string) {
	if text := f.raw("regex"); text != "" {
		if q.Type == "choice" {
			j.warn(at+".regex", "the expression is not kept: the choices decide")
		} else {
			j.pattern(q, text, at+".regex")
		}
	}
	layout := f.text("dateFormat")
	if f.flag("isDate", false) || layout != "" {
		j.warn(at+".isDate", "a date is asked for as text")
		if layout != "" && q.Type == "text" {
			q.Help = short(strings.TrimSpace(q.Help+"\nFormat: "+layout), maxHelp)
			if p := datePattern(layout); p != "" && q.Pattern == "" {
				j.pattern(q, p, at+".dateFormat")
			}
		}
	}
}

// pattern sets a pattern if the server accepts it.
func (j *job) pattern(q *importer.Question, text, at string) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err == nil && utf8.RuneCountInString(text) <= maxPattern {
		if program, err := syntax.Compile(tree.Simplify()); err == nil && len(program.Inst) <= maxProgram {
			q.Pattern = text
			return
		}
	}
	j.warn(at, "the form of the answer is not checked: its expression is too long, or not one of RE2")
}

// standard reads the default. One that looks secret is left out, and so is one that would be no answer.
func (j *job) standard(q *importer.Question, f fields, at string) {
	text := f.raw("value")
	switch {
	case text == "":
		return
	case runs.LooksSecret(q.Var) || looksSecret(text):
		j.need(at+".value", "a default that looks like a secret is left out: use a credential")
		return
	case len(text) > maxAnswer || strings.ContainsRune(text, 0):
		j.warn(at+".value", "the default is too long, and is left out")
		return
	case strings.ContainsAny(text, "\r\n") && q.Type == "text":
		q.Type = "multiline"
	}
	re := regexp.MustCompile(`\A(?:` + q.Pattern + `)\z`)
	if q.Type == "choice" && !slices.Contains(q.Choices, text) || q.Pattern != "" && !re.MatchString(text) {
		j.warn(at+".value", "the default is no answer that the option allows, and is left out")
		return
	}
	q.Default = text
}

// secureOption makes a credential of an option whose value is secret.
func (j *job) secureOption(r *reader, o *option, f fields, at string) {
	o.env = "RD_OPTION_" + reserved.Upper(o.name)
	name := f.text("storagePath")
	if name == "" {
		name = j.object.Name + ": " + oneLine(o.name)
	}
	r.credential(j, o.env, name, "the option "+oneLine(o.name)+" of the job "+j.object.Name)
	j.need(at, "the option is secret: enter its value in the credential, which replaces asking for it")
	f.drop("value", "values", "required", "valueExposed", "label", "description", "type", "optionType", "hidden")
	j.lost(f, at)
}

var invalidVar = lazyregexp.New(`[^A-Za-z0-9_]`)

// variable returns a name as one that a question may ask for.
func variable(name string) string {
	name = invalidVar.ReplaceAllString(name, "_")
	if name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	name = name[:min(len(name), maxVar-20)]
	if reserved.Variable(name) {
		name = "option_" + name
	}
	return name
}

// datePattern returns the pattern of a date in a layout such as "MM/DD/YYYY hh:mm a", empty for one with other letters.
func datePattern(layout string) string {
	var b strings.Builder
	for len(layout) > 0 {
		n := 1
		for n < len(layout) && layout[n] == layout[0] {
			n++
		}
		switch c := layout[0]; {
		case strings.IndexByte("YDMHhms", c) >= 0 && n > 1 && n != 3:
			b.WriteString("[0-9]{" + strconv.Itoa(n) + "}")
		case strings.IndexByte("DMHhms", c) >= 0 && n == 1:
			b.WriteString("[0-9]{1,2}")
		case (c == 'a' || c == 'A') && n == 1:
			b.WriteString("[AaPp][Mm]")
		case c < utf8.RuneSelf && !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'):
			b.WriteString(regexp.QuoteMeta(layout[:n]))
		default:
			return ""
		}
		layout = layout[n:]
	}
	return b.String()
}

// short returns at most limit characters of a text that the server takes.
func short(s string, limit int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "")
	if r := []rune(s); len(r) > limit {
		return string(r[:limit])
	}
	return s
}
