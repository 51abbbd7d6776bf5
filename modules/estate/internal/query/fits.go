package query

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

var (
	number  = lazyregexp.New(`^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$`)
	version = lazyregexp.New(`^[0-9]+(\.[0-9]+)*$`)
)

// scalar is a fact or a member of one. Numbers compare as numbers, other values as texts.
type scalar struct {
	text   string
	number bool
}

// fits compares. Without a fact every comparison is false. Of a list one member has to fit, or for != none be equal.
func (x comparison) fits(host string, f estate.Facts) bool {
	list := x.scalars(host, f)
	if x.sign == "!=" {
		return len(list) > 0 && !slices.ContainsFunc(list, func(s scalar) bool { return s.fits("=", x.value) })
	}
	return slices.ContainsFunc(list, func(s scalar) bool { return s.fits(x.sign, x.value) })
}

func (x comparison) scalars(host string, f estate.Facts) []scalar {
	if x.at.host {
		return []scalar{{text: host}}
	}
	raw := x.at.find(f)
	if !bytes.HasPrefix(raw, []byte("[")) {
		return scalarOf(raw)
	}
	var members []json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	var out []scalar
	for _, m := range members {
		out = append(out, scalarOf(m)...)
	}
	return out
}

// scalarOf returns no scalar for null, objects and lists.
func scalarOf(raw json.RawMessage) []scalar {
	switch {
	case len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || string(raw) == "null":
		return nil
	case raw[0] != '"':
		return []scalar{{string(raw), number.MatchString(string(raw))}}
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return nil
	}
	return []scalar{{text: text}}
}

func (s scalar) fits(sign, value string) bool {
	if sign == "~" {
		return strings.Contains(strings.ToLower(s.text), strings.ToLower(value))
	}
	order, ok := s.compare(value)
	switch sign {
	case "=":
		return ok && order == 0
	case "<":
		return ok && order < 0
	case "<=":
		return ok && order <= 0
	case ">":
		return ok && order > 0
	default:
		return ok && order >= 0
	}
}

// compare returns no order of a number and a text.
func (s scalar) compare(value string) (order int, ok bool) {
	switch {
	case s.number:
		if !number.MatchString(value) {
			return 0, false
		}
		// An error is a number out of range, for which the result is infinite or zero.
		a, _ := strconv.ParseFloat(s.text, 64)
		b, _ := strconv.ParseFloat(value, 64)
		return cmp.Compare(a, b), true
	case numbered(s.text) && numbered(value):
		if order := versions(s.text, value); order != 0 || version.MatchString(s.text) && version.MatchString(value) {
			return order, true
		}
		return strings.Compare(s.text, value), true // texts that differ in their separators are not equal
	default:
		return strings.Compare(s.text, value), true
	}
}

func numbered(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// versions compares segment by segment: numbers by value, texts as texts, and a text is less than a number. Of two that
// begin alike the longer one is greater.
func versions(a, b string) int {
	split := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(".-_+~:", r) })
	}
	return slices.CompareFunc(split(a), split(b), func(a, b string) int {
		switch x, y := digits(a), digits(b); {
		case x && y:
			a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
			return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
		case x:
			return 1
		case y:
			return -1
		default:
			return strings.Compare(a, b)
		}
	})
}

func digits(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}
