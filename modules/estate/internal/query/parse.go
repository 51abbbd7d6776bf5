package query

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
)

// The bounds of a query: its characters, and how deep parentheses and not are nested.
const (
	maxLength = 1000
	maxDepth  = 32
)

// Query decides whether a host fits by its facts.
type Query struct{ of expression }

// Parse reads a query. Every host fits a blank one. Errors: an Invalid fault names q and the column.
func Parse(text string) (*Query, error) {
	x, err := parse(text)
	if err != nil {
		return nil, err
	}
	return &Query{x}, nil
}

// Fits reports whether a host fits. Only the facts of Keys matter, each with those below it.
func (q *Query) Fits(host string, f estate.Facts) bool { return q.of.fits(host, f) }

// Keys lists the keys of the facts that the query compares.
func (q *Query) Keys() []string { return q.of.keys(nil) }

// expression is a part of a query. A host fits a blank query, since no part of it is false. keys adds the keys of the
// facts that decide to a list.
type expression interface {
	fits(host string, f estate.Facts) bool
	keys(list []string) []string
}

type (
	conjunction []expression
	disjunction []expression
	negation    struct{ of expression }
	// comparison compares a fact with a value. The segments of its key say where the fact is.
	comparison struct {
		key         []string
		sign, value string
		at          place
	}
)

func (x conjunction) fits(host string, f estate.Facts) bool {
	for _, part := range x {
		if !part.fits(host, f) {
			return false
		}
	}
	return true
}

func (x disjunction) fits(host string, f estate.Facts) bool {
	for _, part := range x {
		if part.fits(host, f) {
			return true
		}
	}
	return false
}

func (x negation) fits(host string, f estate.Facts) bool { return !x.of.fits(host, f) }

func (x conjunction) keys(list []string) []string { return keysOf(x, list) }

func (x disjunction) keys(list []string) []string { return keysOf(x, list) }

func (x negation) keys(list []string) []string { return x.of.keys(list) }

func (x comparison) keys(list []string) []string { return x.at.appendKeys(list) }

func keysOf(parts []expression, list []string) []string {
	for _, part := range parts {
		list = part.keys(list)
	}
	return list
}

// parser reads a query from its left to its right. It stops at the first error.
type parser struct {
	text  string
	at    int // in bytes
	depth int
}

func parse(text string) (expression, error) {
	p := &parser{text: text}
	switch {
	case !utf8.ValidString(text):
		return nil, fault.BadField("q", "is not UTF-8")
	case utf8.RuneCountInString(text) > maxLength:
		return nil, fault.BadField("q", "is longer than %d characters", maxLength)
	}
	if p.space(); p.at == len(text) {
		return conjunction{}, nil
	}
	x, err := p.list("or")
	if err == nil && p.at < len(text) {
		err = p.bad("expected and, or, or the end of the query")
	}
	return x, err
}

func (p *parser) bad(format string, args ...any) error {
	column := utf8.RuneCountInString(p.text[:p.at]) + 1
	return fault.BadField("q", "column %d: %s", column, fmt.Sprintf(format, args...))
}

func (p *parser) space() {
	p.at = len(p.text) - len(strings.TrimLeftFunc(p.text[p.at:], unicode.IsSpace))
}

// list reads parts that a word joins: of or, parts that and joins.
func (p *parser) list(word string) (expression, error) {
	next := p.single
	if word == "or" {
		next = func() (expression, error) { return p.list("and") }
	}
	var parts []expression
	for {
		x, err := next()
		if err != nil {
			return nil, err
		}
		if parts = append(parts, x); !p.word(word) {
			break
		}
	}
	switch {
	case len(parts) == 1:
		return parts[0], nil
	case word == "or":
		return disjunction(parts), nil
	default:
		return conjunction(parts), nil
	}
}

// single reads a comparison, a negation or a query in parentheses.
func (p *parser) single() (expression, error) {
	negated := p.word("not")
	if !negated && !p.take("(") {
		return p.comparison()
	}
	if p.depth++; p.depth > maxDepth {
		return nil, p.bad("is nested deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	if negated {
		x, err := p.single()
		return negation{x}, err
	}
	x, err := p.list("or")
	if err == nil && !p.take(")") {
		err = p.bad("expected )")
	}
	return x, err
}

func (p *parser) comparison() (expression, error) {
	x := comparison{}
	for {
		segment, err := p.name(".", "a key")
		if err != nil {
			return nil, err
		}
		if x.key = append(x.key, segment); !strings.HasPrefix(p.text[p.at:], ".") {
			break
		}
		p.at++
	}
	p.space()
	for _, sign := range []string{"!=", "<=", ">=", "=", "<", ">", "~"} { // the longer ones first
		if p.take(sign) {
			x.sign = sign
			break
		}
	}
	if x.sign == "" {
		return nil, p.bad("expected one of = != < <= > >= ~")
	}
	var err error
	x.value, err = p.name("", "a value")
	x.at = placeOf(x.key)
	p.space()
	return x, err
}

// take reads a sign and the space after it.
func (p *parser) take(sign string) bool {
	if !strings.HasPrefix(p.text[p.at:], sign) {
		return false
	}
	p.at += len(sign)
	p.space()
	return true
}

// word reads a word of the language and the space after it.
func (p *parser) word(word string) bool {
	if end := p.bare("."); !strings.EqualFold(p.text[p.at:end], word) || strings.HasPrefix(p.text[end:], ".") {
		return false
	}
	return p.take(p.text[p.at : p.at+len(word)])
}

// bare returns the end of the text without quotes that begins here.
func (p *parser) bare(stop string) int {
	n := strings.IndexFunc(p.text[p.at:], func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`"()=!<>~`+stop, r)
	})
	if n < 0 {
		return len(p.text)
	}
	return p.at + n
}

// name reads text with or without quotes. In quotes \" is a quote and \\ a backslash.
func (p *parser) name(stop, what string) (string, error) {
	if strings.HasPrefix(p.text[p.at:], `"`) {
		return p.quoted()
	}
	end := p.bare(stop)
	switch word := strings.ToLower(p.text[p.at:end]); {
	case word == "":
		return "", p.bad("expected %s", what)
	case (word == "and" || word == "or" || word == "not") && !strings.HasPrefix(p.text[end:], "."):
		return "", p.bad("expected %s; %s as text needs quotes", what, word)
	}
	name := p.text[p.at:end]
	p.at = end
	return name, nil
}

func (p *parser) quoted() (string, error) {
	var b strings.Builder
	for i := p.at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; c {
		case '"':
			p.at = i + 1
			return b.String(), nil
		case '\\':
			if i++; i == len(p.text) || p.text[i] != '"' && p.text[i] != '\\' {
				p.at = i - 1
				return "", p.bad(`only \" and \\ begin with a backslash`)
			}
			b.WriteByte(p.text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", p.bad("the quote does not end")
}
