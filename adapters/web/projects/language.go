package projects

import (
	"path"
	"strings"
)

// span is a piece of a line with the class of its colour, empty for plain text.
type span struct{ Class, Text string }

// The classes of spans.
const (
	comment  = "h-c"
	str      = "h-s"
	key      = "h-k"
	number   = "h-n"
	template = "h-t"
)

// language returns the language of a file by its name and first line, empty for one that is not known.
func language(name, text string) string {
	base := strings.ToLower(path.Base(name))
	switch strings.TrimPrefix(path.Ext(base), ".") {
	case "j2", "jinja", "jinja2":
		return "jinja"
	case "yml", "yaml":
		return "yaml"
	case "ini", "cfg", "conf", "toml":
		return "ini"
	case "sh", "bash":
		return "shell"
	case "py":
		return "python"
	}
	first, _, _ := strings.Cut(text, "\n")
	switch {
	case base == "hosts" || base == "inventory":
		return "ini"
	case strings.HasPrefix(first, "#!") && strings.Contains(first, "python"):
		return "python"
	case strings.HasPrefix(first, "#!") && strings.HasSuffix(strings.TrimSpace(first), "sh"):
		return "shell"
	}
	return ""
}

// lines divides the spans at line ends.
func (l *lexer) lines() [][]span {
	out := [][]span{{}}
	for _, p := range l.out {
		for i, part := range strings.Split(l.src[p.from:p.to], "\n") {
			if i > 0 {
				out = append(out, []span{})
			}
			if part != "" {
				out[len(out)-1] = append(out[len(out)-1], span{p.class, part})
			}
		}
	}
	if n := len(out); n > 1 && len(out[n-1]) == 0 {
		out = out[:n-1]
	}
	return out
}

func isWord(list, word string) bool {
	return strings.Contains(" "+list+" ", " "+word+" ") && word != ""
}

func numeric(s string) bool {
	return s != "" && s[0] >= '0' && s[0] <= '9' && strings.Trim(s, "0123456789._xabcdefABCDEF") == ""
}

// quoted returns the length of the text in quotes at the beginning of s, to the end of its line or of all if it does
// not end.
func quoted(s string, escapes, lines bool) int {
	for i := 1; i < len(s); i++ {
		switch {
		case escapes && s[i] == '\\':
			i++
		case s[i] == s[0]:
			return i + 1
		case s[i] == '\n' && !lines:
			return i
		}
	}
	return len(s)
}
