package projects

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/plaintext"
)

// hiddenSign stands for characters that are not seen.
const hiddenSign = '\u2426'

// highlight divides a text into lines of spans. It reads each byte a bounded number of times, whatever the text is.
func highlight(lang, text string) [][]span {
	l := &lexer{lang: lang, src: plaintext.Lines(text, hiddenSign)}
	switch lang {
	case "yaml", "ini":
		for line := range strings.SplitAfterSeq(l.src, "\n") {
			l.structured(line)
		}
	case "shell", "python":
		l.program()
	case "jinja":
		l.jinja("", l.src)
	default:
		l.emit("", l.src)
	}
	return l.lines()
}

type lexer struct {
	lang, src string
	out       []piece
	at        int // the end of what was emitted
}

// piece is a part of the text with one class.
type piece struct {
	class    string
	from, to int
}

// emit gives the next part of the text a class. Parts of one class are joined without a copy.
func (l *lexer) emit(class, text string) {
	if text == "" {
		return
	}
	from := l.at
	l.at += len(text)
	if n := len(l.out); n > 0 && l.out[n-1].class == class {
		l.out[n-1].to = l.at
		return
	}
	l.out = append(l.out, piece{class, from, l.at})
}

// jinja emits a text of a class with the templates in it.
func (l *lexer) jinja(class, text string) {
	for {
		i := strings.IndexByte(text, '{')
		for i >= 0 && (i+1 == len(text) || !strings.ContainsRune("{%#", rune(text[i+1]))) {
			next := strings.IndexByte(text[i+1:], '{')
			if next < 0 {
				i = -1
				break
			}
			i += 1 + next
		}
		if i < 0 {
			l.emit(class, text)
			return
		}
		closing, kind := map[byte]string{'{': "}}", '%': "%}", '#': "#}"}[text[i+1]], template
		if text[i+1] == '#' {
			kind = comment
		}
		end := strings.Index(text[i+2:], closing)
		if end < 0 { // it never ends: the rest is one piece
			l.emit(class, text[:i])
			l.emit(kind, text[i:])
			return
		}
		l.emit(class, text[:i])
		end += i + 2 + len(closing)
		l.emit(kind, text[i:end])
		text = text[end:]
	}
}

// structured emits a line of YAML or INI: its key, its value and its comment.
func (l *lexer) structured(line string) {
	body := strings.TrimLeft(line, " \t")
	l.emit("", line[:len(line)-len(body)])
	for l.lang == "yaml" && strings.HasPrefix(body, "- ") {
		rest := strings.TrimLeft(body[2:], " ")
		l.emit("", body[:len(body)-len(rest)])
		body = rest
	}
	switch {
	case strings.HasPrefix(body, "#") || l.lang == "ini" && strings.HasPrefix(body, ";"):
		l.emit(comment, body)
		return
	case l.lang == "ini" && strings.HasPrefix(body, "["):
		l.emit(key, body)
		return
	}
	if n := l.keyEnd(body); n > 0 {
		l.emit(key, body[:n])
		body = body[n:]
	}
	l.value(body)
}

// keyEnd returns the length of the key at the beginning of a line, 0 without one.
func (l *lexer) keyEnd(s string) int {
	if l.lang == "ini" {
		return max(0, strings.IndexByte(s, '='))
	}
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		if n := quoted(s, s[0] == '"', false); n < len(s) && s[n] == ':' {
			return n
		}
		return 0
	}
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == ':' && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\n'):
			return i
		case strings.IndexByte("#{[", s[i]) >= 0:
			return 0
		}
	}
	return 0
}

// value emits the rest of a line: texts in quotes, a comment after a space, and words.
func (l *lexer) value(s string) {
	from := 0
	for i := 0; i < len(s); {
		before := byte(' ')
		if i > 0 {
			before = s[i-1]
		}
		open := strings.IndexByte(" \t:[{,=(", before) >= 0
		switch {
		case (s[i] == '"' || s[i] == '\'') && open:
			n := quoted(s[i:], s[i] == '"', false)
			l.plain(s[from:i])
			l.jinja(str, s[i:i+n])
			i += n
			from = i
		case s[i] == '#' && (before == ' ' || before == '\t'):
			l.plain(s[from:i])
			l.emit(comment, s[i:])
			return
		default:
			i++
		}
	}
	l.plain(s[from:])
}

// plain emits a value without quotes: a number, a constant, or text with templates.
func (l *lexer) plain(s string) {
	word := strings.Trim(s, " \t\n:=,[]{}-")
	if strings.HasPrefix(s, ":") && l.lang == "yaml" || word == "" {
		l.emit("", s[:min(1, len(s))])
		s = s[min(1, len(s)):]
	}
	if word != "" && (numeric(word) || isWord("true false yes no null on off ~", strings.ToLower(word))) {
		l.emit(number, s)
		return
	}
	l.jinja("", s)
}

const (
	pythonWords = "and as assert async await break class continue def del elif else except finally for from global if " +
		"import in is lambda nonlocal not or pass raise return try while with yield None True False match case"
	shellWords = "if then else elif fi for while until do done case esac in function return exit local export set unset " +
		"shift break continue readonly trap"
)

// program emits shell or Python.
func (l *lexer) program() {
	s, words := l.src, pythonWords
	if l.lang == "shell" {
		words = shellWords
	}
	for i := 0; i < len(s); {
		n, class := l.token(s[i:], i == 0 || strings.IndexByte(" \t\n;(", s[i-1]) >= 0)
		if class == "word" {
			switch word := s[i : i+n]; {
			case isWord(words, word):
				class = key
			case numeric(word):
				class = number
			default:
				class = ""
			}
		}
		l.emit(class, s[i:i+n])
		i += n
	}
}

// token returns the length and the class of what s begins with, which is not empty. alone means that a blank is
// before.
func (l *lexer) token(s string, alone bool) (int, string) {
	python := l.lang == "python"
	switch c := s[0]; {
	case c == '#' && (python || alone):
		if n := strings.IndexByte(s, '\n'); n >= 0 {
			return n, comment
		}
		return len(s), comment
	case python && (strings.HasPrefix(s, `"""`) || strings.HasPrefix(s, "'''")):
		if n := strings.Index(s[3:], s[:3]); n >= 0 {
			return n + 6, str
		}
		return len(s), str
	case c == '"' || c == '\'':
		return quoted(s, python || c == '"', !python), str
	case !python && c == '\\':
		return min(2, len(s)), ""
	case !python && c == '$' && len(s) > 1:
		return variable(s), template
	}
	r, size := utf8.DecodeRuneInString(s)
	if !letter(r) {
		return size, ""
	}
	for size < len(s) {
		r, n := utf8.DecodeRuneInString(s[size:])
		if !letter(r) {
			break
		}
		size += n
	}
	return size, "word"
}

func letter(r rune) bool { return r == '_' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// maxVariable bounds how far the end of a variable is looked for, so that many without one take no longer.
const maxVariable = 256

// variable returns the length of the variable of a shell at the beginning of s.
func variable(s string) int {
	if s[1] == '{' {
		if n := strings.IndexAny(s[:min(len(s), maxVariable)], "}\n"); n > 0 && s[n] == '}' {
			return n + 1
		}
		return 2
	}
	n := 1
	for n < len(s) && (s[n] == '_' || s[n] < utf8.RuneSelf && letter(rune(s[n])) && s[n] != '.') {
		n++
	}
	return max(n, 2)
}
