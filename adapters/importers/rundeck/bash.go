package rundeck

import (
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

// heredoc matches the beginning of a text of several lines in a script.
var heredoc = lazyregexp.New(`^<<-?[ \t]*(["'\\]?)([A-Za-z_][A-Za-z0-9_]{0,100})["']?`)

// scanner follows the quotes of a bash script, as far as references need it.
type scanner struct {
	text    string
	at      int
	replace func(rest string, q quoting) (string, int)
	out     strings.Builder
	open    []byte // what is open: " and (
	here    []hereText
}

type hereText struct {
	end string
	raw bool // it is not expanded
}

// special are the characters that a scanner looks at.
const special = "$@\\\"'()#<\n"

// expand returns a bash script in which replace replaces what it finds at the beginning of a rest of the script. It
// returns how many bytes it replaces, 0 for nothing.
func expand(text string, replace func(rest string, q quoting) (string, int)) string {
	s := &scanner{text: text, replace: replace}
	s.out.Grow(len(text))
	for s.at < len(text) {
		// Most of a text is passed on as it is.
		n := strings.IndexAny(text[s.at:], special)
		if n < 0 {
			n = len(text) - s.at
		}
		if s.copy(n); s.at < len(text) {
			s.next()
		}
	}
	return s.out.String()
}

// copy passes on n bytes.
func (s *scanner) copy(n int) {
	n = min(n, len(s.text)-s.at)
	s.out.WriteString(s.text[s.at : s.at+n])
	s.at += n
}

// reference replaces a reference at this place, if there is one.
func (s *scanner) reference(q quoting) bool {
	rest := s.text[s.at:]
	if !strings.HasPrefix(rest, "${") && rest[0] != '@' {
		return false
	}
	text, n := s.replace(rest, q)
	if n == 0 {
		return false
	}
	s.out.WriteString(text)
	s.at += n
	return true
}

func (s *scanner) top() byte {
	if len(s.open) == 0 {
		return 0
	}
	return s.open[len(s.open)-1]
}

func (s *scanner) pop() { s.open = s.open[:len(s.open)-1] }

func (s *scanner) next() {
	c, double := s.text[s.at], s.top() == '"'
	q := bare
	if double {
		q = inDouble
	}
	switch {
	case s.reference(q):
		return
	case c == '\\':
		s.copy(2)
		return
	case c == '"' && double:
		s.pop()
	case c == '"':
		s.open = append(s.open, c)
	case c == '\'' && !double:
		s.single()
		return
	case c == '(' && (!double || s.at > 0 && s.text[s.at-1] == '$'):
		s.open = append(s.open, c)
	case c == ')' && s.top() == '(':
		s.pop()
	case c == '#' && !double && (s.at == 0 || strings.IndexByte(" \t\n;", s.text[s.at-1]) >= 0):
		s.copy(max(0, strings.IndexByte(s.text[s.at:]+"\n", '\n')))
		return
	case c == '<' && !double && strings.HasPrefix(s.text[s.at:], "<<<"):
		s.copy(3)
		return
	case c == '<' && !double:
		if m := heredoc.FindStringSubmatch(s.text[s.at:]); m != nil {
			s.here = append(s.here, hereText{m[2], m[1] != ""})
			s.copy(len(m[0]))
			return
		}
	case c == '\n' && len(s.here) > 0:
		s.copy(1)
		s.heres()
		return
	}
	s.copy(1)
}

// single passes on a text in single quotes.
func (s *scanner) single() {
	s.copy(1)
	for s.at < len(s.text) {
		c := s.text[s.at]
		if s.reference(inSingle) {
			continue
		}
		s.copy(1)
		if c == '\'' {
			return
		}
	}
}

// heres passes on the texts of several lines that begin here.
func (s *scanner) heres() {
	for _, h := range s.here {
		for s.at < len(s.text) {
			end := strings.IndexByte(s.text[s.at:], '\n')
			if end < 0 {
				end = len(s.text) - s.at - 1
			}
			line := s.text[s.at : s.at+end+1]
			if strings.Trim(line, "\t\r\n") == h.end {
				s.copy(len(line))
				break
			}
			q := inHere
			if h.raw {
				q = inRawHere
			}
			for end := s.at + len(line); s.at < end; {
				if !s.reference(q) {
					s.copy(1)
				}
			}
		}
	}
	s.here = nil
}

// document returns a text as the lines of a here-document that bash does not expand.
func hereDocument(command, text string) string {
	end := "END"
	for n := 0; slices.Contains(strings.Split(text, "\n"), end); n++ {
		end += "_"
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return command + " <<'" + end + "'\n" + text + end + "\n"
}
