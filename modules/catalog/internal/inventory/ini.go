package inventory

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The kinds of sections of an INI inventory.
const (
	hostLines  = "hosts"
	childLines = "children"
	varLines   = "vars"
)

// ini is the state of the parser of an INI inventory. Hosts before the first section are ungrouped.
type ini struct {
	w        *builder
	line     int
	indent   int // number of characters that were cut from the start of the line
	group    string
	kind     string
	declared map[string]bool // groups with a section of hosts or children
	needed   []need
}

// need is a group that must be declared by some section, and its parent if it occurred as a child.
type need struct {
	group, parent string
	line          int
}

func readINI(text string, w *builder) error {
	if strings.HasPrefix(text, "\ufeff") {
		return refuse(1, 1, "expected text, got a byte order mark; save the inventory as UTF-8 without one")
	}
	p := &ini{w: w, group: ungrouped, kind: hostLines, declared: map[string]bool{all: true, ungrouped: true}}
	for text != "" {
		var line string
		p.line++
		line, text = cutLine(text)
		// Python also splits lines at these characters, but editors do not count them as line breaks.
		for _, part := range strings.FieldsFunc(line, oddBreak) {
			if err := p.read(part); err != nil {
				return err
			}
		}
	}
	return p.settle()
}

// cutLine cuts off the first line, which ends with \n, \r\n or \r.
func cutLine(text string) (line, rest string) {
	end := strings.IndexAny(text, "\r\n")
	switch {
	case end < 0:
		return text, ""
	case strings.HasPrefix(text[end:], "\r\n"):
		return text[:end], text[end+2:]
	default:
		return text[:end], text[end+1:]
	}
}

func oddBreak(r rune) bool {
	return r == '\v' || r == '\f' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
}

func blank(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// read parses one line.
func (p *ini) read(line string) error {
	trimmed := strings.TrimLeftFunc(line, blank)
	p.indent = utf8.RuneCountInString(line[:len(line)-len(trimmed)])
	trimmed = strings.TrimRightFunc(trimmed, blank)
	if trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' {
		return nil
	}
	if trimmed[0] == '[' {
		if name, kind, ok := header(trimmed); ok {
			return p.section(name, kind)
		}
		if strings.HasSuffix(trimmed, "]") {
			return p.refuse(0, "expected [group], [group:vars] or [group:children] without blanks, got %q", short(trimmed))
		}
	}
	switch p.kind {
	case childLines:
		return p.child(trimmed)
	case varLines:
		return p.variable(trimmed)
	default:
		return p.host(trimmed)
	}
}

// refuse returns the fault with the line and the column. The column is in bytes after the first non-blank character.
func (p *ini) refuse(column int, format string, args ...any) error {
	return refuse(p.line, p.indent+column+1, format, args...)
}

// wrap adds the place to an error.
func (p *ini) wrap(column int, err error) error {
	if err == nil {
		return nil
	}
	return p.refuse(column, "%v", err)
}

// header parses the line of a section. A comment with # may follow.
func header(line string) (name, kind string, ok bool) {
	inside, rest, ok := strings.Cut(line[1:], "]")
	if rest = strings.TrimLeftFunc(rest, blank); !ok || rest != "" && rest[0] != '#' {
		return "", "", false
	}
	name, kind, typed := strings.Cut(inside, ":")
	if !typed {
		kind = hostLines
	}
	isWordRune := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }
	if name == "" || strings.ContainsFunc(name, blank) || kind == "" || strings.ContainsFunc(kind, func(r rune) bool {
		return !isWordRune(r)
	}) {
		return "", "", false
	}
	return name, kind, true
}

func (p *ini) section(name, kind string) error {
	switch kind {
	case hostLines, childLines:
		p.declared[name] = true
	case varLines:
		if !p.declared[name] {
			p.needed = append(p.needed, need{group: name, line: p.line})
		}
	default:
		return p.refuse(0, "expected the kind vars or children of section %q, got %q", short(name), short(kind))
	}
	p.group, p.kind = name, kind
	return p.wrap(0, p.w.addGroup(name))
}

func (p *ini) host(line string) error {
	tokens, fault := tokenize(line)
	if fault != "" {
		return p.refuse(0, "%s", fault)
	}
	if len(tokens) == 0 {
		return nil
	}
	pattern := tokens[0].text
	if strings.TrimFunc(pattern, blank) == "---" {
		return p.refuse(0, "expected the name of a host, got ---, with which YAML begins")
	}
	if strings.HasSuffix(pattern, ":") {
		return p.refuse(0, "expected a port behind the colon of %q", short(pattern))
	}
	names, port, err := expand(pattern)
	if err != nil {
		return p.refuse(0, "%v", err)
	}
	if err := p.w.addHosts(names, p.group, port); err != nil {
		return p.wrap(0, err)
	}
	for _, t := range tokens[1:] {
		key, text, ok := strings.Cut(t.text, "=")
		if !ok {
			return p.refuse(t.column, "expected key=value") // without the text, which may be a password
		}
		value, err := p.value(text, t.column)
		if err != nil {
			return err
		}
		if err := p.w.set(names, key, value); err != nil {
			return p.wrap(t.column, err)
		}
	}
	return nil
}

func (p *ini) value(text string, column int) (any, error) {
	if p.w.counting {
		return nil, nil
	}
	value, fault := literal(text)
	if fault != "" {
		return nil, p.refuse(column, "%s", fault)
	}
	return value, nil
}

func (p *ini) variable(line string) error {
	key, text, ok := strings.Cut(line, "=")
	if !ok {
		return p.refuse(0, "expected key=value")
	}
	value, err := p.value(strings.TrimFunc(text, blank), utf8.RuneCountInString(key)+1)
	if err != nil {
		return err
	}
	return p.wrap(0, p.w.setGroup(p.group, strings.TrimFunc(key, blank), value))
}

// child parses the name of a child group. A comment with # may follow; if the line is invalid otherwise, even without a
// blank before the #.
func (p *ini) child(line string) error {
	end := strings.IndexFunc(line, func(r rune) bool { return blank(r) || r == ':' || r == ']' })
	name, rest := line, ""
	if end >= 0 {
		name, rest = line[:end], strings.TrimLeftFunc(line[end:], blank)
	}
	if rest != "" && rest[0] != '#' {
		name = name[:max(0, strings.LastIndexByte(name, '#'))]
	}
	if name == "" {
		return p.refuse(0, "expected the name of a group, got %q", short(line))
	}
	p.needed = append(p.needed, need{group: name, parent: p.group, line: p.line})
	return nil
}

// settle adds the child groups to their parents, and refuses groups that no section declares.
func (p *ini) settle() error {
	for _, n := range p.needed {
		p.line, p.indent = n.line, 0
		switch {
		case !p.declared[n.group] && n.parent == "":
			return p.refuse(0, "section [%s:vars] is of a group that no section declares", short(n.group))
		case !p.declared[n.group]:
			return p.refuse(0, "group %q has the child %q, which no section declares", short(n.parent), short(n.group))
		case n.parent != "":
			if err := p.w.addChild(n.parent, n.group, n.line, 1); err != nil {
				return p.wrap(0, err)
			}
		}
	}
	return nil
}
