package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// answer gives every answer the type that its question asks for. A text stays a text, also one that looks like a
// number.
func answer(survey []question, provided map[string]string) (map[string]any, error) {
	out := make(map[string]any, len(provided))
	for _, name := range slices.Sorted(maps.Keys(provided)) {
		i := slices.IndexFunc(survey, func(q question) bool { return q.Var == name })
		if i < 0 {
			return nil, usagef("the survey does not ask for %q%s", name, oneLine(asked(survey), 2000))
		}
		v, err := survey[i].parse(provided[name])
		if err != nil {
			return nil, usagef("the answer %s %s", name, oneLine(err.Error(), 2000))
		}
		out[name] = v
	}
	return out, nil
}

// asked names what a survey asks for.
func asked(survey []question) string {
	if len(survey) == 0 {
		return ": it has none"
	}
	names := make([]string, 0, len(survey))
	for i := range survey {
		names = append(names, survey[i].Var)
	}
	return ": it asks for " + strings.Join(names, ", ")
}

var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// parse reads an answer. The error goes on a sentence that begins with what was answered.
func (q *question) parse(s string) (any, error) {
	switch q.Type {
	case "int":
		if !wholeNumber.MatchString(s) {
			return nil, errors.New("is no whole number")
		}
		return json.Number(s), nil
	case "bool":
		if s != "true" && s != "false" {
			return nil, errors.New("is neither true nor false")
		}
		return s == "true", nil
	case "choice":
		if !slices.Contains(q.Choices, s) {
			return nil, fmt.Errorf("is none of %s", strings.Join(q.Choices, ", "))
		}
	}
	return s, nil
}

// unanswered names the questions that have to be answered and are not.
func unanswered(survey []question, answers map[string]any) []string {
	var out []string
	for i := range survey {
		q := &survey[i]
		if _, ok := answers[q.Var]; q.Required && !ok && !q.hasDefault() {
			out = append(out, q.Var)
		}
	}
	return out
}

// maxTries bounds how often one question is asked.
const maxTries = 5

// asker asks questions on a terminal.
type asker struct {
	in  *bufio.Reader
	out io.Writer
}

// ask asks every required question that has no answer. An empty line takes the default, where there is one.
func (a *asker) ask(survey []question, answers map[string]any) error {
	for i := range survey {
		q := &survey[i]
		if _, ok := answers[q.Var]; ok || !q.Required {
			continue
		}
		v, err := a.question(q)
		if err != nil {
			return err
		}
		if v != nil {
			answers[q.Var] = v
		}
	}
	return nil
}

// question asks one question, nil for its default.
func (a *asker) question(q *question) (any, error) {
	a.printQuestion(q)
	for range maxTries {
		_, _ = fmt.Fprint(a.out, "> ")
		input, err := a.line()
		if err == nil && input != "" && q.Type == "multiline" {
			input, err = a.more(input)
		}
		switch {
		case err != nil:
			_, _ = fmt.Fprintln(a.out)
			return nil, fmt.Errorf("the survey asks for %s, and nothing was answered", q.Var)
		case input == "" && q.hasDefault():
			return nil, nil
		case input == "":
			_, _ = fmt.Fprintln(a.out, "  An answer is needed.")
			continue
		}
		v, err := q.parse(q.picked(input))
		if err == nil {
			return v, nil
		}
		_, _ = fmt.Fprintf(a.out, "  That %s.\n", plainText(err.Error()))
	}
	return nil, fmt.Errorf("the survey asks for %s, and no answer fitted", q.Var)
}

// printQuestion writes what a question asks.
func (a *asker) printQuestion(q *question) {
	title := firstOf(q.Label, q.Var)
	if p := q.preset(); p != "" {
		title += " [" + p + "]"
	}
	_, _ = fmt.Fprintln(a.out, oneLine(title, 400))
	if q.Help != "" {
		_, _ = fmt.Fprintf(a.out, "  %s\n", oneLine(q.Help, 1000))
	}
	switch q.Type {
	case "choice":
		for i, c := range q.Choices {
			_, _ = fmt.Fprintf(a.out, "  %d  %s\n", i+1, oneLine(c, 200))
		}
	case "bool":
		_, _ = fmt.Fprintln(a.out, "  true or false")
	case "multiline":
		_, _ = fmt.Fprintln(a.out, "  Several lines; a line with a single dot ends them.")
	}
}

// picked turns the number of a choice into it, unless a choice is written so.
func (q *question) picked(s string) string {
	n, err := strconv.Atoi(s)
	if q.Type != "choice" || err != nil || n < 1 || n > len(q.Choices) || slices.Contains(q.Choices, s) {
		return s
	}
	return q.Choices[n-1]
}

// maxAnswerText bounds what is read for one answer, in bytes.
const maxAnswerText = 1 << 20

// line reads one line without its end.
func (a *asker) line() (string, error) {
	var b strings.Builder
	for b.Len() < maxAnswerText {
		part, err := a.in.ReadSlice('\n')
		b.Write(part)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && b.Len() == 0 {
			return "", err
		}
		return strings.TrimRight(b.String(), "\r\n"), nil
	}
	return "", errors.New("the answer is too long")
}

// more reads the lines after the first up to the one with a dot.
func (a *asker) more(first string) (string, error) {
	text := first
	for len(text) < maxAnswerText {
		l, err := a.line()
		if err != nil || l == "." {
			return text, nil //nolint:nilerr // the end of the input ends an answer as the dot does
		}
		text += "\n" + l
	}
	return "", errors.New("the answer is too long")
}
