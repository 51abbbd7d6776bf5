package puppet

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/ports/importer"
)

// manifest reads a site manifest: the literal names of node statements become hosts, patterns are listed. What a node
// includes becomes groups.
func (r *reader) manifest(body []byte) error {
	body, err := document.Text(body)
	if err != nil {
		return err
	}
	s := &scanner{text: string(body), line: 1}
	found := 0
	for {
		t := s.next()
		if t.kind == end {
			break
		}
		if t.kind != word || t.text != "node" {
			continue
		}
		at := t.line
		names, ok := s.names()
		if !ok {
			continue
		}
		found++
		classes := s.block()
		for _, n := range names {
			r.statement(n, classes, at)
		}
	}
	if found == 0 {
		return importer.Malformed.New("the body is neither JSON of PuppetDB or facter nor a site manifest with nodes")
	}
	return nil
}

func (r *reader) statement(name token, classes []string, line int) {
	ref := fmt.Sprintf("line %d", line)
	switch {
	case name.kind == pattern:
		r.Skip("node pattern", "/"+name.text+"/", ref, "A pattern names no host; export the nodes of PuppetDB for its hosts.")
	case name.kind == word && name.text == "default":
		r.Skip("node pattern", "default", ref, "The default node names no host.")
	case r.nodes[name.text] != nil:
		r.Skip("node", name.text, ref, "The manifest names the node before.")
	default:
		n := &node{ref: ref, facts: make(map[string]any)}
		for _, c := range classes {
			if role, ok := strings.CutPrefix(c, "role::"); ok {
				n.role = append(n.role, role)
			}
		}
		r.nodes[name.text] = n
	}
}

type kind int

const (
	end     kind = iota
	word         // a name with colons
	quoted       // a text in quotes
	pattern      // a regular expression
	mark         // another character
)

type token struct {
	kind kind
	text string
	line int
}

// scanner splits a manifest into tokens, without comments and the contents of heredocs.
type scanner struct {
	text    string
	line    int
	regexp  bool     // a slash begins a pattern
	pending []string // the ends of heredocs that begin on the next line
}

func (s *scanner) next() token {
	for s.text != "" {
		c := s.text[0]
		switch {
		case c == '\n':
			s.skip(1)
			s.heredocs()
		case unicode.IsSpace(rune(c)):
			s.skip(1)
		case c == '#':
			s.skip(until(s.text, "\n", 0))
		case strings.HasPrefix(s.text, "/*"):
			s.skip(until(s.text, "*/", 2))
		case strings.HasPrefix(s.text, "@("):
			s.heredoc()
		case c == '\'' || c == '"':
			return s.delimited(quoted, c)
		case c == '/' && s.regexp:
			return s.delimited(pattern, c)
		case isWord(c):
			n := 1
			for n < len(s.text) && isWord(s.text[n]) {
				n++
			}
			return s.take(word, n)
		default:
			return s.take(mark, 1)
		}
	}
	return token{kind: end, line: s.line}
}

func isWord(c byte) bool {
	return c == '_' || c == ':' || c == '.' || c == '-' || c >= 0x80 ||
		unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))
}

// until returns the length of a text up to the end of a mark after offset, or the length of the text.
func until(text, end string, offset int) int {
	if i := strings.Index(text[min(offset, len(text)):], end); i >= 0 {
		if end == "\n" {
			return offset + i
		}
		return offset + i + len(end)
	}
	return len(text)
}

func (s *scanner) skip(n int) {
	s.line += strings.Count(s.text[:n], "\n")
	s.text = s.text[n:]
}

func (s *scanner) take(k kind, n int) token {
	t := token{k, s.text[:n], s.line}
	s.skip(n)
	return t
}

// delimited takes a text up to its closing character. A backslash hides the next one.
func (s *scanner) delimited(k kind, closing byte) token {
	at := s.line
	for i := 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case closing:
			t := token{k, s.text[1:i], at}
			s.skip(i + 1)
			return t
		}
	}
	s.skip(len(s.text))
	return token{kind: end, line: at}
}

// heredoc notes the end of a heredoc, whose text begins on the next line.
func (s *scanner) heredoc() {
	n := until(s.text, ")", 2)
	name := strings.Trim(strings.TrimSuffix(s.text[2:n], ")"), ` "`)
	name, _, _ = strings.Cut(name, ":")
	name, _, _ = strings.Cut(name, "/")
	s.pending = append(s.pending, strings.Trim(name, ` "`))
	s.skip(n)
}

// heredocs skips the texts of the heredocs that begin here.
func (s *scanner) heredocs() {
	for _, name := range s.pending {
		for s.text != "" {
			row, _, _ := strings.Cut(s.text, "\n")
			s.skip(min(len(row)+1, len(s.text)))
			row = strings.TrimLeft(strings.TrimSpace(row), "|- ")
			if row == name {
				break
			}
		}
	}
	s.pending = nil
}

// names reads the names of a node statement up to its brace.
func (s *scanner) names() ([]token, bool) {
	s.regexp = true
	defer func() { s.regexp = false }()
	var out []token
	for {
		switch t := s.next(); {
		case t.kind == mark && t.text == "{":
			return out, len(out) > 0
		case t.kind == mark && t.text == ",":
		case t.kind == word && t.text == "inherits":
			s.next()
		case t.kind == word || t.kind == quoted || t.kind == pattern:
			out = append(out, t)
		default:
			return nil, false
		}
	}
}

// block reads a block after its brace and returns the classes that it includes.
func (s *scanner) block() []string {
	var out []string
	for depth := 1; depth > 0; {
		t := s.next()
		switch {
		case t.kind == end:
			return out
		case t.kind == mark && t.text == "{":
			depth++
		case t.kind == mark && t.text == "}":
			depth--
		case t.kind == word && strings.HasPrefix(strings.TrimPrefix(t.text, "::"), "role::"):
			out = append(out, strings.TrimRight(strings.TrimPrefix(t.text, "::"), ":"))
		}
	}
	return out
}
