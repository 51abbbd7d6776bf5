package rundeck

import (
	"regexp"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/runs"
)

// passed is what a reference passes to the options of a job.
type passed struct {
	whole   bool // its template can be launched with the answers
	answers map[string]any
	sets    []string
}

// passed reads the arguments of a reference. Its template is launched if that needs nothing but answers that are known.
func (g *graph) passed(s scope, ref *reference, t *job) passed {
	values, missing := g.arguments(s, ref, t)
	out := passed{whole: t.single && !ref.nodes.remote && !missing, answers: map[string]any{}}
	var export, unset []string
	for _, o := range t.options {
		value, given := values[o.name]
		own := s.of.option(o.name)
		switch {
		case given:
			export = append(export, o.env+"="+s.word(value))
			if q := o.question; q == nil || !fits(q.Type, q.Choices, q.Pattern, value) {
				out.whole = false
			} else {
				out.answers[q.Var] = value
			}
		case ref.options && own != nil:
			out.whole = false
			if own.env != o.env {
				export = append(export, o.env+`="${`+own.env+`}"`)
			}
		case o.question == nil:
		case o.question.Default != nil:
			export = append(export, o.env+"="+s.word(o.question.Default.(string)))
		default:
			out.whole = out.whole && !o.question.Required
			unset = append(unset, o.env)
			if o.question.Required {
				g.j.needOnce(s.at, "the reference gives the job "+t.object.Name+" no value for its option "+oneLine(o.name))
			}
		}
	}
	if len(unset) > 0 {
		out.sets = append(out.sets, "unset "+strings.Join(unset, " "))
	}
	if len(export) > 0 {
		out.sets = append(out.sets, "export "+strings.Join(export, " "))
	}
	return out
}

// arguments returns the values of a reference by the names of options, and whether one is missing that was left out.
func (g *graph) arguments(s scope, ref *reference, t *job) (values map[string]string, missing bool) {
	values = map[string]string{}
	words := split(ref.args)
	for i := 0; i < len(words); i++ {
		name := strings.TrimPrefix(words[i], "-")
		o := t.option(name)
		if o == nil || name == words[i] {
			missing = true
			g.j.needOnce(s.at+".args", "an argument of the reference is no option of the job "+t.object.Name)
			continue
		}
		value := ""
		if i+1 < len(words) && (!strings.HasPrefix(words[i+1], "-") || t.option(words[i+1][1:]) == nil) {
			i++
			value = words[i]
		}
		literal := !strings.Contains(value, "$")
		if literal && value != "" && (o.secure || runs.LooksSecret(name) || looksSecret(value)) {
			missing = true
			g.j.needOnce(s.at+".args", "a secret among the arguments is left out: use a credential")
			continue
		}
		values[name] = value
	}
	return values, missing
}

// fits reports whether a value is known, and an answer to a question.
func fits(kind string, choices []string, pattern, value string) bool {
	switch {
	case strings.Contains(value, "${"), len(value) > maxAnswer, strings.ContainsRune(value, 0), value == "":
		return false
	case kind == "choice":
		return slices.Contains(choices, value)
	case kind == "text" && strings.ContainsAny(value, "\r\n"):
		return false
	}
	return pattern == "" || regexp.MustCompile(`\A(?:`+pattern+`)\z`).MatchString(value)
}
