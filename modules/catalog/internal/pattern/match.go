package pattern

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Limits of one pattern that is matched against all names.
const (
	maxPattern = 1000 // characters
	maxProgram = 4000 // instructions; the time of a match is proportional to this, times the length of the name
)

// matcher matches names: exactly, by wildcards or by a regular expression.
type matcher struct {
	name   string
	glob   []token
	prefix string         // the prefix of every matching name
	expr   *regexp.Regexp // nil if the pattern is not an expression
	steps  int            // of an expression, per byte of a name
}

// exact reports whether the matcher matches exactly one name.
func (m *matcher) exact() bool { return m.expr == nil && m.glob == nil }

// token is one element of a wildcard pattern: any text, or one character of a set.
type token struct {
	any    bool
	not    bool
	ranges [][2]rune
}

// compile parses a pattern without its subscript. An Invalid fault names limit.
func compile(p string) (matcher, error) {
	text, expression := strings.CutPrefix(p, "~")
	if !expression && !strings.ContainsAny(p, "*?[") {
		return matcher{name: p}, nil
	}
	if len(p) > maxPattern {
		return matcher{}, bad("a pattern is longer than %d bytes", maxPattern)
	}
	if !expression {
		g := glob(p)
		return matcher{glob: g, prefix: prefix(g)}, nil
	}
	if _, err := syntax.Parse(text, syntax.Perl); err != nil {
		return matcher{}, bad("%q is no regular expression of RE2", short(p))
	}
	text = `\A(?:` + text + `)`
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return matcher{}, bad("%q is no pattern", short(p))
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > maxProgram {
		return matcher{}, bad("%q repeats too much", short(p))
	}
	expr, err := regexp.Compile(text)
	if err != nil {
		return matcher{}, bad("%q is no pattern", short(p))
	}
	return matcher{expr: expr, steps: len(program.Inst)}, nil
}

// fits reports whether a name matches the wildcards or the expression, and the number of steps. It only backtracks to
// the last *, so the steps are at most the product of the lengths of name and pattern.
func (m *matcher) fits(name string) (ok bool, steps int) {
	if m.expr != nil {
		return m.expr.MatchString(name), m.steps * (len(name) + 1)
	}
	at, star, mark := 0, -1, 0
	for i := 0; i < len(name); {
		steps++
		if at < len(m.glob) && m.glob[at].any {
			star, mark = at, i
			at++
			continue
		}
		r, width := utf8.DecodeRuneInString(name[i:])
		switch {
		case at < len(m.glob) && m.glob[at].contains(r):
			at++
			i += width
		case star < 0:
			return false, steps
		default:
			_, width = utf8.DecodeRuneInString(name[mark:])
			mark += width
			i, at = mark, star+1
		}
	}
	for at < len(m.glob) && m.glob[at].any {
		at++
	}
	return at == len(m.glob), steps + 1
}

func (t *token) contains(r rune) bool {
	for _, x := range t.ranges {
		if x[0] <= r && r <= x[1] {
			return !t.not
		}
	}
	return t.not
}

// glob parses shell wildcards: *, ?, [set] and [!set]. An unclosed bracket is literal.
func glob(p string) []token {
	runes := []rune(p)
	out := make([]token, 0, len(runes))
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; r {
		case '*':
			out = append(out, token{any: true})
			continue
		case '?':
			out = append(out, token{not: true})
			continue
		case '[':
			if end := closing(runes, i+1); end >= 0 {
				out = append(out, set(runes[i+1:end]))
				i = end
				continue
			}
		}
		out = append(out, token{ranges: [][2]rune{{runes[i], runes[i]}}})
	}
	return out
}

// prefix returns the characters before the first wildcard.
func prefix(glob []token) string {
	var b strings.Builder
	for _, t := range glob {
		if t.any || t.not || len(t.ranges) != 1 || t.ranges[0][0] != t.ranges[0][1] {
			break
		}
		b.WriteRune(t.ranges[0][0])
	}
	return b.String()
}

// closing returns the position of the bracket that closes the one before from, -1 if there is none. A bracket at the
// first position is a member of the set.
func closing(runes []rune, from int) int {
	i := from
	if i < len(runes) && runes[i] == '!' {
		i++
	}
	if i < len(runes) && runes[i] == ']' {
		i++
	}
	for ; i < len(runes); i++ {
		if runes[i] == ']' {
			return i
		}
	}
	return -1
}

// set parses the content of brackets. A range whose end is before its start is empty.
func set(members []rune) token {
	var t token
	if t.not = len(members) > 0 && members[0] == '!'; t.not {
		members = members[1:]
	}
	for i := 0; i < len(members); i++ {
		first, last := members[i], members[i]
		if i+2 < len(members) && members[i+1] == '-' {
			last = members[i+2]
			i += 2
		}
		if first <= last {
			t.ranges = append(t.ranges, [2]rune{first, last})
		}
	}
	return t
}

// short shortens a text for messages.
func short(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
