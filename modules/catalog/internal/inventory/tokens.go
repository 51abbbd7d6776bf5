package inventory

import (
	"strings"
	"unicode/utf8"
)

// token is one word of a line without its quotation marks. Its column is the number of characters before it.
type token struct {
	text   string
	column int
}

// tokenize splits a line as a POSIX shell does, without expansions. A # outside of quotation marks starts a comment,
// even inside of a word. The fault is empty or describes the error.
func tokenize(line string) (out []token, fault string) {
	if !strings.ContainsAny(line, `"'\#`) {
		return tokenizeUnquoted(line), ""
	}
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case isBlank(c):
			i++
		case c == '#':
			return out, ""
		default:
			text, end, fault := readToken(line, i)
			if fault != "" {
				return nil, fault
			}
			out = append(out, token{text, utf8.RuneCountInString(line[:i])})
			if i = end; i < len(line) && line[i] == '#' {
				return out, ""
			}
		}
	}
	return out, ""
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func tokenizeUnquoted(line string) []token {
	out := make([]token, 0, 4)
	column := 0
	for i := 0; i < len(line); {
		start := i
		for i < len(line) && !isBlank(line[i]) {
			i++
		}
		if i > start {
			out = append(out, token{line[start:i], column})
		}
		column += utf8.RuneCountInString(line[start:i])
		for i < len(line) && isBlank(line[i]) {
			i++
			column++
		}
	}
	return out
}

// readToken reads from i up to a blank or a comment.
func readToken(line string, i int) (text string, end int, fault string) {
	var b strings.Builder
	quote := byte(0)
	for ; i < len(line); i++ {
		c := line[i]
		switch {
		case c == quote:
			quote = 0
		case quote == '\'':
			b.WriteByte(c)
		case c == '\\':
			if i++; i == len(line) {
				return "", 0, "expected a character behind the last backslash"
			}
			// In double quotation marks a backslash is literal, except before a backslash or a double quotation mark.
			if quote == '"' && line[i] != '"' && line[i] != '\\' {
				b.WriteByte('\\')
			}
			b.WriteByte(line[i])
		case quote == '"':
			b.WriteByte(c)
		case c == '"' || c == '\'':
			quote = c
		case isBlank(c) || c == '#':
			return b.String(), i, ""
		default:
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		return "", 0, "expected a closing quotation mark"
	}
	return b.String(), i, ""
}
