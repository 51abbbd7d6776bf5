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
	"unicode/utf8"
)

// answer converts every answer to the type of its question. A text stays a text, even if it looks like a number. The
// error names everything that is wrong, with the questions that lack an answer unless somebody can be asked.
func answer(survey []question, provided map[string]string, canAsk bool) (map[string]any, error) {
	out, wrong := make(map[string]any, len(provided)), []string{}
	for _, name := range slices.Sorted(maps.Keys(provided)) {
		i := slices.IndexFunc(survey, func(q question) bool { return q.Var == name })
		if i < 0 {
			wrong = append(wrong, unknownQuestion(survey, name))
			continue
		}
		v, err := survey[i].parse(provided[name])
		if err != nil {
			wrong = append(wrong, "the answer "+name+" "+err.Error())
			continue
		}
		out[name] = v
	}
	missing := slices.DeleteFunc(unanswered(survey, out), func(name string) bool { _, ok := provided[name]; return ok })
	if len(missing) > 0 && !canAsk {
		wrong = append(wrong, "the survey requires "+strings.Join(missing, ", ")+": give it with --answer k=v")
	}
	if len(wrong) > 0 {
		return nil, usagef("%s", plainText(strings.Join(wrong, "\n  ")))
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

// maxWhole bounds whole numbers: the server takes those that floats represent exactly.
const maxWhole = 1 << 53

// parse reads an answer, with the rules of the server. The error continues a sentence that begins with the question.
func (q *question) parse(s string) (any, error) {
	if s == "" && q.Required && q.Type != "int" && q.Type != "bool" {
		return nil, errors.New("is empty, and an answer is required")
	}
	switch q.Type {
	case "int":
		return q.whole(s)
	case "bool":
		if s != "true" && s != "false" {
			return nil, errors.New("is neither true nor false")
		}
		return s == "true", nil
	case "choice":
		if !slices.Contains(q.Choices, s) {
			return nil, fmt.Errorf("is not one of %s", strings.Join(q.Choices, ", "))
		}
		return s, nil
	}
	return s, q.textual(s)
}

func (q *question) whole(s string) (any, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange) || strings.HasPrefix(s, "+"):
		return nil, errors.New("is not a whole number")
	case err != nil || n > maxWhole || n < -maxWhole:
		return nil, errors.New("is not between -2^53 and 2^53")
	case q.Min != nil && n < *q.Min:
		return nil, fmt.Errorf("is less than %d", *q.Min)
	case q.Max != nil && n > *q.Max:
		return nil, fmt.Errorf("is more than %d", *q.Max)
	}
	return json.Number(strconv.FormatInt(n, 10)), nil
}

// textual says what is wrong with a text.
func (q *question) textual(s string) error {
	n := int64(utf8.RuneCountInString(s))
	switch {
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return errors.New("is not text in UTF-8")
	case q.Type == "text" && strings.ContainsAny(s, "\r\n"):
		return errors.New("has several lines, and one is allowed")
	case q.MinLength != nil && n < *q.MinLength:
		return fmt.Errorf("has %s, and at least %d are needed", count(int(n), "character"), *q.MinLength)
	case q.MaxLength != nil && n > *q.MaxLength:
		return fmt.Errorf("has %s, and at most %d are allowed", count(int(n), "character"), *q.MaxLength)
	case q.Pattern == "":
		return nil
	}
	// A pattern that this build cannot read is left to the server.
	if re, err := regexp.Compile(`\A(?:` + q.Pattern + `)\z`); err == nil && !re.MatchString(s) {
		return fmt.Errorf("does not match %s", q.Pattern)
	}
	return nil
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

// ask reads the answers that are missing. An empty line selects the default, and of a question that requires no answer
// none.
func (a *asker) ask(survey []question, answers map[string]any) error {
	for i := range survey {
		q := &survey[i]
		if _, ok := answers[q.Var]; ok {
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

// question reads the answer to one question, nil for its default or none.
func (a *asker) question(q *question) (any, error) {
	a.printQuestion(q)
	for range maxTries {
		_, _ = fmt.Fprint(a.out, "> ")
		input, err := a.line()
		if err == nil && q.Type == "multiline" && input != "" {
			input, err = a.more(input)
		}
		switch {
		case err != nil:
			_, _ = fmt.Fprintln(a.out)
			if !q.Required || q.hasDefault() {
				return nil, fmt.Errorf("the input ended at the question %s; nothing was launched", q.Var)
			}
			return nil, fmt.Errorf("the survey requires %s, and the input ended", q.Var)
		case input == "" && (q.hasDefault() || !q.Required):
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
	return nil, fmt.Errorf("no answer to %s was valid; nothing was launched", q.Var)
}

// printQuestion prints a question with all that its answer has to keep.
func (a *asker) printQuestion(q *question) {
	title := firstOf(q.Label, q.Var)
	switch p := q.preset(); {
	case p != "":
		title += " [" + p + "]"
	case !q.Required:
		title += " (optional)"
	}
	_, _ = fmt.Fprintln(a.out, oneLine(title, 400))
	if q.Help != "" {
		_, _ = fmt.Fprintf(a.out, "  %s\n", oneLine(q.Help, 1000))
	}
	for i, c := range q.Choices {
		_, _ = fmt.Fprintf(a.out, "  %d  %s\n", i+1, oneLine(c, 200))
	}
	if hint := q.hint(); hint != "" {
		_, _ = fmt.Fprintf(a.out, "  %s\n", oneLine(hint, 1200))
	}
}

// hint says which answers a question takes.
func (q *question) hint() string {
	var parts []string
	bounds := func(from, to *int64, one, least, most string) {
		switch {
		case from != nil && to != nil:
			parts = append(parts, fmt.Sprintf(one, *from, *to))
		case from != nil:
			parts = append(parts, fmt.Sprintf(least, *from))
		case to != nil:
			parts = append(parts, fmt.Sprintf(most, *to))
		}
	}
	switch q.Type {
	case "bool":
		return "y or n"
	case "multiline":
		parts = append(parts, "several lines; a line with a single dot ends them")
	case "int":
		parts = append(parts, "a whole number")
	}
	bounds(q.Min, q.Max, "from %d to %d", "from %d", "up to %d")
	bounds(q.MinLength, q.MaxLength, "%d to %d characters", "at least %d characters", "at most %d characters")
	if q.Pattern != "" {
		parts = append(parts, "matches "+q.Pattern)
	}
	return strings.Join(parts, ", ")
}

// picked replaces what a person types: the number of a choice by the choice, unless a choice equals that number, and
// y and n.
func (q *question) picked(s string) string {
	switch q.Type {
	case "bool":
		switch strings.ToLower(strings.TrimSpace(s)) {
		case "y", "yes", "true":
			return "true"
		case "n", "no", "false":
			return "false"
		}
	case "choice":
		if n, err := strconv.Atoi(s); err == nil && n >= 1 && n <= len(q.Choices) && !slices.Contains(q.Choices, s) {
			return q.Choices[n-1]
		}
	}
	return s
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
