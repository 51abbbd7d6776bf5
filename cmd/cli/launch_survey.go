package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

// answer converts every answer to the type of its question. A text stays a text, even if it looks like a number.
func answer(survey []question, provided map[string]string) (map[string]any, error) {
	out := make(map[string]any, len(provided))
	for _, name := range slices.Sorted(maps.Keys(provided)) {
		i := slices.IndexFunc(survey, func(q question) bool { return q.Var == name })
		if i < 0 {
			return nil, usagef("%s", oneLine(unknownQuestion(survey, name), 2000))
		}
		v, err := survey[i].parse(provided[name])
		if err != nil {
			return nil, usagef("the answer %s %s", name, oneLine(err.Error(), 2000))
		}
		out[name] = v
	}
	return out, nil
}

// unknownQuestion explains that a survey has no question of a name, and lists those that it has.
func unknownQuestion(survey []question, name string) string {
	if len(survey) == 0 {
		return "the survey has no questions"
	}
	names := make([]string, 0, len(survey))
	for i := range survey {
		names = append(names, survey[i].Var)
	}
	return fmt.Sprintf("the survey has no question %q, only %s", name, strings.Join(names, ", "))
}

var wholeNumber = lazyregexp.New(`^-?(0|[1-9][0-9]*)$`)

// parse reads an answer. The error continues a sentence that begins with the question.
func (q *question) parse(s string) (any, error) {
	switch q.Type {
	case "int":
		if !wholeNumber.MatchString(s) {
			return nil, errors.New("is not a whole number")
		}
		return json.Number(s), nil
	case "bool":
		if s != "true" && s != "false" {
			return nil, errors.New("is neither true nor false")
		}
		return s == "true", nil
	case "choice":
		if !slices.Contains(q.Choices, s) {
			return nil, fmt.Errorf("is not one of %s", strings.Join(q.Choices, ", "))
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

// maxTries limits how often one question is repeated.
const maxTries = 5

// asker reads answers from a terminal.
type asker struct {
	in  *bufio.Reader
	out io.Writer
}

// ask reads an answer to every required question without one. An empty line selects the default, if there is one.
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

// question reads the answer to one question, nil for its default.
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
			return nil, fmt.Errorf("the survey requires %s, and the input ended", q.Var)
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
	return nil, fmt.Errorf("the survey requires %s, and no answer was valid", q.Var)
}

// printQuestion prints a question.
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

// picked replaces the number of a choice by the choice, unless a choice equals that number.
func (q *question) picked(s string) string {
	n, err := strconv.Atoi(s)
	if q.Type != "choice" || err != nil || n < 1 || n > len(q.Choices) || slices.Contains(q.Choices, s) {
		return s
	}
	return q.Choices[n-1]
}

// maxAnswerText is the limit of one answer, in bytes.
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
