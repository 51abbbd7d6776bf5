package semaphore

import (
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
)

var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// questions returns the survey of a template.
func questions(o *importer.Object, list []any) []importer.Question {
	var out []importer.Question
	seen := map[string]bool{}
	for _, v := range list {
		r := newRecord("", v)
		name, kind := r.line("name"), r.line("type")
		at := "survey_vars." + reserved.Shown(name)
		q := importer.Question{Var: name, Type: "text", Label: short(r.text("title"), maxTitle),
			Help: short(r.text("description"), maxHelp), Required: r.flag("required")}
		values := r.list("values")
		switch {
		case len(out) == maxQuestions:
			draft.Need(o, "survey_vars", "Only %d questions are kept.", maxQuestions)
			return out
		case !variable.MatchString(name) || len(name) > maxVar || seen[name] || reserved.Variable(name):
			draft.Need(o, at, "The question is left out: its variable has no valid name, or one that is taken or reserved.")
			continue
		case kind == "secret":
			draft.Need(o, at, "The question is left out: no question asks for a secret; use a credential.")
			continue
		case kind == "int" || kind == "integer":
			q.Type = "int"
		case kind == "enum" || kind == "select":
			q.Type, q.Choices = "choice", choices(o, at, values)
			if len(q.Choices) == 0 {
				draft.Need(o, at, "The question is left out: it has no choices.")
				continue
			}
		case kind != "" && kind != "string" && kind != "text":
			draft.Warn(o, at, "The type of the question is not known here, and became a text.")
		}
		seen[name] = true
		preset(o, at, &q, r.line("default_value"))
		r.rest(o, at+".")
		out = append(out, q)
	}
	if len(out) > 0 {
		draft.Map(o, "The survey has %s, as before or with the differences that are named.",
			draft.Count(len(out), "question"))
	}
	return out
}

// preset sets the default of a question, if the server takes it.
func preset(o *importer.Object, at string, q *importer.Question, s string) {
	switch {
	case s == "":
	case secret(q.Var, s):
		draft.Need(o, at+".default_value", "The default is left out, because it is a secret.")
	case q.Type == "int":
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && n <= maxWhole && n >= -maxWhole {
			q.Default = n
			return
		}
		draft.Need(o, at+".default_value", "The default is left out, because it is no number.")
	case q.Type == "choice" && !slices.Contains(q.Choices, s), !oneLine(s, maxPart):
		draft.Need(o, at+".default_value", "The default is left out, because the server does not take it as an answer.")
	default:
		q.Default = s
	}
}

// options turns arguments of the command line into settings.
func options(o *importer.Object, spec *importer.TemplateSpec, list []any) {
	for i := 0; i < len(list); i++ {
		word := text(list[i])
		name, value, joined := strings.Cut(word, "=")
		next := func() string {
			if joined {
				return value
			}
			if i++; i < len(list) {
				return text(list[i])
			}
			return ""
		}
		switch name {
		case "-l", "--limit":
			set(o, spec, "arguments", "limit", next())
		case "-t", "--tags":
			set(o, spec, "arguments", "tags", next())
		case "--skip-tags":
			set(o, spec, "arguments", "skip_tags", next())
		case "-f", "--forks":
			spec.Forks = forks(o, next())
		case "-e", "--extra-vars":
			extra(o, spec, next())
		case "-D", "--diff":
			spec.DiffMode = true
		case "-C", "--check":
			spec.DryRun = true
		case "--verbose":
			spec.Verbosity = max(spec.Verbosity, 1)
		case "-v", "-vv", "-vvv", "-vvvv", "-vvvvv", "-vvvvvv":
			spec.Verbosity = min(len(name)-1, maxVerbosity)
		case "-b", "--become":
			merge(spec, map[string]any{"ansible_become": true})
			draft.Warn(o, "arguments", "Becoming another user is the variable ansible_become, which also holds for plays that "+
				"say otherwise.")
		default:
			if !strings.HasPrefix(name, "-") || runs.LooksSecret(name) {
				name = "argument"
			}
			draft.Need(o, "arguments", "The server has no counterpart of %s, which is left out.",
				reserved.Shown(short(name, maxShort)))
		}
	}
	if len(list) > 0 {
		draft.Map(o, "The arguments became settings, where there are such.")
	}
}

func forks(o *importer.Object, s string) int {
	const most = 10_000
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > most {
		draft.Need(o, "arguments", "The number of forks is none that the server takes.")
		return 0
	}
	return n
}

// extra sets the variables of an argument, which is JSON or has names and values.
func extra(o *importer.Object, spec *importer.TemplateSpec, s string) {
	vars, ok := parsed(s).(map[string]any)
	if name, value, assigned := strings.Cut(strings.TrimSpace(s), "="); !ok && assigned &&
		variable.MatchString(name) && !strings.ContainsAny(value, " \t\n=") {
		vars, ok = map[string]any{name: strings.Trim(value, `"'`)}, true
	}
	if !ok {
		draft.Need(o, "arguments", "The variables of an argument are left out: they are neither JSON nor one assignment.")
		return
	}
	kept, _ := clean(o, "arguments", vars, false, 0)
	vars, _ = kept.(map[string]any)
	merge(spec, vars)
}
