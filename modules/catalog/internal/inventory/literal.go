package inventory

import (
	"cmp"
	"encoding/json"
	"math"
	"strings"
	"unicode/utf8"
)

// Python values without a JSON equivalent. They only exist while a literal is parsed.
type (
	tuple  []any
	octets string
	odd    string // the description of an unsupported value
)

// maxLiteralDepth is Python's maximum nesting of brackets.
const maxLiteralDepth = 200

// literal evaluates Python literals: numbers, strings, lists, tuples, dicts, True, False and None. Any other text is
// returned as a string. The fault is not empty if Ansible fails or the value has no JSON equivalent.
func literal(text string) (value any, fault string) {
	s := strings.TrimLeft(text, " \t")
	if s == "" || !promising(s) {
		return text, ""
	}
	p := &literals{s: s}
	v, ok := p.top()
	if !ok {
		return text, p.unknown
	}
	v = p.plain(v)
	return v, p.fault
}

// promising reports whether the first characters allow a literal.
func promising(s string) bool {
	switch c := s[0]; c {
	case 'T', 'F', 'N', 's':
		return strings.HasPrefix(s, "True") || strings.HasPrefix(s, "False") || strings.HasPrefix(s, "None") ||
			strings.HasPrefix(s, "set")
	case 'b', 'B', 'r', 'R', 'u', 'U':
		at := strings.IndexAny(s[:min(3, len(s))], `"'`)
		return at > 0
	default:
		return strings.IndexByte("0123456789.+-'\"([{\f", c) >= 0
	}
}

// literals is the parser of one expression.
type literals struct {
	s       string
	i       int
	depth   int
	fault   string // the first fault; it only counts if the whole text is a literal
	unknown string // a fault that counts even if the text is not a literal
}

func (p *literals) fail(what string) {
	p.fault = cmp.Or(p.fault, what)
}

// blanks skips blanks and a comment, which ends the expression.
func (p *literals) blanks() {
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\t' || p.s[p.i] == '\f') {
		p.i++
	}
	if p.i < len(p.s) && p.s[p.i] == '#' {
		p.i = len(p.s)
	}
}

// next returns the next non-blank byte, zero at the end.
func (p *literals) next() byte {
	p.blanks()
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

// top parses the expression, which is a tuple if it contains a comma.
func (p *literals) top() (any, bool) {
	v, ok := p.element()
	if !ok {
		return nil, false
	}
	if p.next() != ',' {
		return v, p.i == len(p.s)
	}
	items := tuple{v}
	for p.next() == ',' {
		p.i++
		if p.next() == 0 {
			break
		}
		if v, ok = p.element(); !ok {
			return nil, false
		}
		items = append(items, v)
	}
	return items, p.i == len(p.s)
}

func (p *literals) element() (any, bool) {
	c := p.next()
	switch {
	case c == '+' || c == '-':
		return p.signed(c)
	case c >= '0' && c <= '9' || c == '.':
		v, ok := p.number()
		if !ok {
			return nil, false
		}
		return p.complex(v)
	case c == '(':
		return p.inside(p.parens)
	case c == '[':
		return p.inside(p.list)
	case c == '{':
		return p.inside(p.braces)
	default:
		return p.name(c)
	}
}

func (p *literals) inside(read func() (any, bool)) (any, bool) {
	if p.depth++; p.depth > maxLiteralDepth {
		return nil, false
	}
	p.i++
	v, ok := read()
	p.depth--
	return v, ok
}

// signed parses a number after a sign, with or without parentheses. It allows no second sign.
func (p *literals) signed(sign byte) (any, bool) {
	p.i++
	if c := p.next(); c != '(' && c != '.' && (c < '0' || c > '9') {
		return nil, false
	}
	v, ok := p.unsigned()
	if !ok {
		return nil, false
	}
	if sign == '-' {
		v = negative(v)
	}
	return p.complex(v)
}

// unsigned parses a number in any number of parentheses.
func (p *literals) unsigned() (any, bool) {
	if p.next() != '(' {
		return p.number()
	}
	v, ok := p.inside(p.parens)
	switch v.(type) {
	case int64, float64, json.Number:
		return v, ok
	case odd:
		return v, ok
	default:
		return nil, false
	}
}

// complex parses the sum of a number and an imaginary number.
func (p *literals) complex(v any) (any, bool) {
	if c := p.next(); c != '+' && c != '-' {
		return v, true
	}
	p.i++
	if c := p.next(); c != '.' && (c < '0' || c > '9') {
		return nil, false
	}
	imaginary, ok := p.number()
	if _, isOdd := imaginary.(odd); !ok || !isOdd {
		return nil, false
	}
	return imaginary, true
}

// items parses elements up to the closing bracket, and reports whether there was a comma.
func (p *literals) items(end byte) (items []any, comma, ok bool) {
	for {
		if p.next() == end {
			p.i++
			return items, comma, true
		}
		if len(items) > 0 && !comma {
			return nil, false, false
		}
		v, ok := p.element()
		if !ok {
			return nil, false, false
		}
		items, comma = append(items, v), false
		if p.next() == ',' {
			p.i++
			comma = true
		}
	}
}

func (p *literals) list() (any, bool) {
	items, _, ok := p.items(']')
	if items == nil {
		items = []any{}
	}
	return items, ok
}

func (p *literals) parens() (any, bool) {
	items, comma, ok := p.items(')')
	if len(items) == 1 && !comma {
		return items[0], ok
	}
	return tuple(items), ok
}

// braces parses a dict or a set.
func (p *literals) braces() (any, bool) {
	d := newDict()
	for first := true; ; first = false {
		if p.next() == '}' {
			p.i++
			return d.values(), true
		}
		key, ok := p.element()
		if !ok {
			return nil, false
		}
		if p.next() != ':' {
			if !first {
				return nil, false
			}
			return p.set()
		}
		p.i++
		v, ok := p.element()
		if !ok {
			return nil, false
		}
		if !d.put(p.plain(key), p.plain(v)) {
			p.fail("expected numbers and strings as keys of a dict")
		}
		if p.next() == ',' {
			p.i++
		} else if p.next() != '}' {
			return nil, false
		}
	}
}

// set parses the rest of a set after its first element. Variables cannot be sets.
func (p *literals) set() (any, bool) {
	if p.next() == ',' {
		p.i++
	} else if p.next() != '}' {
		return nil, false
	}
	_, _, ok := p.items('}')
	return odd("a set"), ok
}

// name parses constants, the empty set, an ellipsis and strings.
func (p *literals) name(c byte) (any, bool) {
	rest := p.s[p.i:]
	if c == '"' || c == '\'' || c != 0 && strings.IndexByte("bBrRuU", c) >= 0 {
		return p.strings()
	}
	end := 0
	for end < len(rest) && (rest[end] == '_' || rest[end] >= utf8.RuneSelf || alphanumeric(rest[end])) {
		end++
	}
	p.i += end
	switch rest[:end] {
	case "True":
		return true, true
	case "False":
		return false, true
	case "None":
		return nil, true
	case "set":
		if p.next() != '(' {
			return nil, false
		}
		p.i++
		if p.next() != ')' {
			return nil, false
		}
		p.i++
		return odd("a set"), true
	default:
		return nil, false
	}
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// plain converts a parsed value to a JSON value, and sets the fault if that is not possible.
func (p *literals) plain(v any) any {
	switch v := v.(type) {
	case tuple:
		items := make([]any, len(v))
		for i := range v {
			items[i] = p.plain(v[i])
		}
		return items
	case []any:
		for i := range v {
			v[i] = p.plain(v[i])
		}
		return v
	case octets:
		if !utf8.ValidString(string(v)) {
			p.fail("expected bytes that are UTF-8")
		}
		return string(v)
	case odd:
		p.fail("expected a value that JSON can hold, got " + string(v))
		return nil
	case float64:
		if math.IsInf(v, 0) {
			p.fail("expected a number that JSON can hold, got infinity")
		}
		return v
	default:
		return v
	}
}
