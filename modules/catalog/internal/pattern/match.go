package pattern

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// Bounds of one pattern that is matched against every name.
const (
	maxPattern = 1000 // characters
	maxProgram = 4000 // instructions; a match takes time for each, times the length of the name
)

// matcher fits names: by being one, or by an expression.
type matcher struct {
	name string
	expr *regexp.Regexp // nil: the name
}

// compile reads a pattern without its subscript. An Invalid fault names limit.
func compile(p string) (matcher, error) {
	text, ok := strings.CutPrefix(p, "~")
	switch {
	case ok:
		text = `\A(?:` + text + `)`
		if _, err := syntax.Parse(p[1:], syntax.Perl); err != nil {
			return matcher{}, bad("%q is no regular expression of RE2", short(p))
		}
	case strings.ContainsAny(p, "*?["):
		text = `(?s)\A(?:` + glob(p) + `)\z`
	default:
		return matcher{name: p}, nil
	}
	if len(p) > maxPattern {
		return matcher{}, bad("a pattern is longer than %d bytes", maxPattern)
	}
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
	return matcher{expr: expr}, nil
}

func (m matcher) fits(name string) bool { return m.expr.MatchString(name) }

// glob translates the wildcards of a shell: *, ?, [set] and [!set]. A bracket that is not closed stands for itself.
func glob(p string) string {
	var b strings.Builder
	runes := []rune(p)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; r {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteByte('.')
		case '[':
			end := closing(runes, i+1)
			if end < 0 {
				b.WriteString(`\[`)
				continue
			}
			b.WriteString(set(runes[i+1 : end]))
			i = end
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String()
}

// closing returns where the bracket ends that was opened before from, -1 where it does not. A bracket that comes first is a member.
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

// set translates the inside of brackets. A range whose end comes before its beginning holds nothing.
func set(members []rune) string {
	not := len(members) > 0 && members[0] == '!'
	if not {
		members = members[1:]
	}
	var b strings.Builder
	for i := 0; i < len(members); i++ {
		first, last := members[i], members[i]
		if i+2 < len(members) && members[i+1] == '-' {
			last = members[i+2]
			i += 2
		}
		if first > last {
			continue
		}
		b.WriteString(member(first) + "-" + member(last))
	}
	switch {
	case b.Len() == 0 && not:
		return "."
	case b.Len() == 0:
		return `[^\x00-\x{10FFFF}]`
	case not:
		return "[^" + b.String() + "]"
	default:
		return "[" + b.String() + "]"
	}
}

// member is a character inside of a set.
func member(r rune) string {
	if strings.ContainsRune(`\]^[-&~|`, r) {
		return `\` + string(r)
	}
	return string(r)
}

// short cuts what a message repeats.
func short(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
