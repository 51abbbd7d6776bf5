package rundeck

import (
	"strings"

	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/reserved"
)

// scope is what references in the texts of a step mean.
type scope struct {
	r   *reader
	job *job // whose template the step is part of: it is told about losses
	of  *job // whose options and name references mean; another one where its steps are inlined
	at  string
	// sets are lines of a script that set the options of an inlined job.
	sets []string
	nodes
}

var (
	inCommand = lazyregexp.New(`^\$\{(option|unquotedoption|job|node|globals|data|export|secret)[.:]([^}\s]{1,200})\}`)
	inScript  = lazyregexp.New(`^@(option|unquotedoption|job|node|globals|data|export|secret)[.:]([^@\s]{1,200})@`)
	// fromEnv matches variables that Rundeck sets in the environment of a step.
	fromEnv = lazyregexp.New(`\bRD_(OPTION|JOB|NODE|GLOBALS|DATA|EXPORT)_([A-Za-z0-9_]{1,200})\b`)
	plain   = lazyregexp.New(`^[A-Za-z0-9_./ -]*$`)
	wanted  = lazyregexp.New(`\b(?:WRIT_VAR|RD_OPTION|SECRET)_[A-Z0-9_]+\b`)
)

// variable returns the environment variable that a reference means, or the text that stands for it.
func (s *scope) variable(kind, name string) (env, text string, ok bool) {
	switch kind {
	case "option", "unquotedoption":
		if o := s.of.option(strings.TrimSuffix(name, ".value")); o != nil {
			return o.env, "", true
		}
		s.job.needOnce(s.at, "it refers to the option "+oneLine(name)+", which the job does not have")
		return "", "", false
	case "secret":
		if strings.HasPrefix(name, "SECRET_") {
			return name, "", true
		}
	case "job":
		switch name {
		case "execid":
			return "WRIT_RUN_ID", "", true
		case "name", "group", "id", "project":
			known := map[string]string{"name": s.of.name, "group": s.of.group, "id": s.of.id, "project": s.of.project}
			if text := known[name]; plain.MatchString(text) && text != "" {
				return "", text, true
			}
		}
	}
	s.job.needOnce(s.at, "it refers to "+kind+"."+oneLine(name)+", which has no counterpart")
	return "", "", false
}

// quoting is where in a bash script a reference is.
type quoting int

const (
	bare quoting = iota
	inDouble
	inSingle
	inHere
	inRawHere
)

// reference returns a reference as bash reads it in its place. Values stay one word unless they were not quoted.
func (s *scope) reference(kind, name, written string, q quoting) string {
	env, text, ok := s.variable(kind, name)
	switch {
	case !ok:
		return written
	case env == "" && q == bare:
		return `"` + text + `"`
	case env == "":
		return text
	case q == bare && kind == "unquotedoption", q == inDouble, q == inHere:
		return "${" + env + "}"
	case q == bare:
		return `"${` + env + `}"`
	case q == inSingle:
		return `'"${` + env + `}"'`
	}
	s.job.needOnce(s.at, "it refers to "+kind+"."+oneLine(name)+" in a text that bash does not expand: use $"+env)
	return written
}

// bash returns a command or a script with its references replaced by variables.
func (s *scope) bash(text string, token *lazyregexp.Regexp) string {
	if !strings.Contains(text, "${") && !strings.Contains(text, "@") {
		return s.environment(text)
	}
	return s.environment(expand(text, func(rest string, q quoting) (string, int) {
		m := token.FindStringSubmatch(rest)
		if m == nil {
			return "", 0
		}
		return s.reference(m[1], m[2], m[0], q), len(m[0])
	}))
}

// environment replaces the variables of the environment that Rundeck sets.
func (s *scope) environment(text string) string {
	if !strings.Contains(text, "RD_") {
		return text
	}
	byName := map[string]string{}
	for _, o := range s.of.options {
		byName[reserved.Upper(o.name)] = o.env
	}
	return fromEnv.Get().ReplaceAllStringFunc(text, func(name string) string {
		m := fromEnv.FindStringSubmatch(name)
		switch env := byName[m[2]]; {
		case m[1] == "OPTION" && env != "":
			return env
		case name == "RD_JOB_EXECID":
			return "WRIT_RUN_ID"
		}
		s.job.needOnce(s.at, "it reads the variable "+oneLine(name)+", which is not set")
		return name
	})
}

// literals returns a script of another language with references replaced where they are a whole quoted text. How
// others would have to be written depends on the language.
func (s *scope) literals(text, before, after string) string {
	text = s.environment(text)
	if !strings.Contains(text, "@") {
		return text
	}
	return anywhere.Get().ReplaceAllStringFunc(text, func(written string) string {
		m := anywhere.FindStringSubmatch(written)
		env, literal, ok := s.variable(m[2], m[3])
		switch {
		case !ok:
			return written
		case env == "":
			return m[1] + literal + m[4]
		case before != "" && m[1] != "" && m[1] == m[4]:
			return before + env + after
		}
		s.job.needOnce(s.at, "it refers to "+m[2]+"."+oneLine(m[3])+": read the variable "+env+" of the environment there")
		return written
	})
}

var anywhere = lazyregexp.New(
	`(["']?)@(option|unquotedoption|job|node|globals|data|export|secret)[.:]([^@\s]{1,200})@(["']?)`)

// words returns the words of a line of arguments as bash words.
func (s *scope) words(line string) string {
	words := split(line)
	for i, w := range words {
		words[i] = s.word(w)
	}
	return strings.Join(words, " ")
}

// word returns a text with references as one bash word.
func (s *scope) word(text string) string {
	if text == "" {
		return "''"
	}
	var b strings.Builder
	from := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '$' {
			continue
		}
		if m := inCommand.FindStringSubmatch(text[i:]); m != nil {
			b.WriteString(quote(text[from:i]))
			b.WriteString(s.reference(m[1], m[2], m[0], bare))
			i += len(m[0]) - 1
			from = i + 1
		}
	}
	b.WriteString(quote(text[from:]))
	return b.String()
}

// split returns the words of a line, in which quotes keep spaces.
func split(line string) []string {
	var out []string
	var b strings.Builder
	open, in := rune(0), false
	for _, c := range line {
		switch {
		case open != 0 && c == open:
			open = 0
		case open != 0:
			b.WriteRune(c)
		case c == '"' || c == '\'':
			open, in = c, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if in {
				out = append(out, b.String())
				b.Reset()
			}
			in = false
		default:
			b.WriteRune(c)
			in = true
		}
	}
	if in {
		out = append(out, b.String())
	}
	return out
}

var unquoted = lazyregexp.New(`^[A-Za-z0-9_./:=,+@%-]*$`)

// quote returns a text as a bash word, empty for an empty one.
func quote(s string) string {
	if unquoted.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
