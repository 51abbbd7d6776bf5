package cron

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/runs"
)

// place is a secret within a text, with the quotes around it.
type place struct {
	from, to int
	name     string // of what holds it
}

// The lengths, in bytes, beyond which nothing is taken for a value, a name or one command.
const (
	maxValue = 500
	maxWord  = 60
	maxSpan  = 300
)

// find returns the secrets of a command in their order. They are found by the names before them and by their form.
func find(text string) []place {
	low := lower(text)
	var out []place
	add := func(from, to int, name string) {
		if from < to && !harmless(text[from:to]) {
			out = append(out, place{from, to, name})
		}
	}
	if contains(low, words()...) {
		values(text, low, add)
	}
	addresses(text, add)
	headers(text, low, add)
	logins(text, low, add)
	tokens(text, add)
	slices.SortStableFunc(out, func(a, b place) int { return cmp.Compare(a.from, b.from) })
	end := 0
	return slices.DeleteFunc(out, func(p place) bool {
		if p.from < end {
			return true
		}
		end = p.to
		return false
	})
}

// words are parts of names that hold secrets; names without one need no closer look.
func words() []string { return []string{"pas", "pwd", "secret", "token", "key", "credential"} }

func contains(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
}

// lower returns a text of the same length with small letters.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// values finds values behind names: NAME=value, "Name: value", --name value.
func values(text, low string, add func(from, to int, name string)) {
	for i := 0; i < len(text); i++ {
		if !wordByte(text[i]) {
			continue
		}
		from := i
		for i < len(text) && wordByte(text[i]) {
			i++
		}
		if i == len(text) || i-from > maxWord || !contains(low[from:i], words()...) {
			continue
		}
		at := i
		switch c := text[i]; {
		case c == '=':
			at++
		case c == ':' && !strings.HasPrefix(text[i:], "://"):
			for at++; at < len(text) && blank(text[at]); at++ {
			}
		case blank(c) && text[from] == '-':
			for ; at < len(text) && blank(text[at]); at++ {
			}
		default:
			continue
		}
		if name := strings.TrimLeft(text[from:i], "-"); runs.LooksSecret(name) && !pointer(low[from:i]) {
			add(at, valueEnd(text, at), name)
		}
	}
}

// pointer reports whether the value of a name tells where a secret is, or whose it is.
func pointer(name string) bool {
	for _, end := range []string{"file", "path", "dir", "id", "name", "url", "type"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// addresses finds the passwords of addresses.
func addresses(text string, add func(from, to int, name string)) {
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return
		}
		at += i + 3
		end := at
		for end < len(text) && end-at < maxSpan && !strings.ContainsRune(" \t\n/\"'<>", rune(text[end])) {
			end++
		}
		login := strings.LastIndexByte(text[at:end], '@')
		if login < 0 {
			continue
		}
		if colon := strings.IndexByte(text[at:at+login], ':'); colon >= 0 {
			add(at+colon+1, at+login, "URL_PASSWORD")
		}
	}
}

// headers finds the logins of Authorization headers.
func headers(text, low string, add func(from, to int, name string)) {
	for _, scheme := range []string{"bearer ", "basic "} {
		for at := 0; ; {
			i := strings.Index(low[at:], scheme)
			if i < 0 {
				break
			}
			at += i + len(scheme)
			if end := valueEnd(text, at); end-at >= 8 && !strings.Contains(low[at:end], "auth") {
				add(at, end, "AUTHORIZATION")
			}
		}
	}
}

// logins finds the passwords of short options: -p of clients of MySQL and of sshpass, -u of curl and wget.
func logins(text, low string, add func(from, to int, name string)) {
	for _, o := range []struct {
		option, name string
		programs     []string
	}{
		{"-p", "PASSWORD", []string{"mysql", "mariadb", "sshpass"}}, {"-u", "LOGIN_PASSWORD", []string{"curl", "wget"}},
		{"--user", "LOGIN_PASSWORD", []string{"curl", "wget"}},
	} {
		if !contains(low, o.programs...) {
			continue
		}
		for at := 0; ; {
			i := strings.Index(text[at:], " "+o.option)
			if i < 0 {
				break
			}
			start := at + i
			at = start + 1 + len(o.option)
			before := low[max(0, start-maxSpan):start]
			if before = before[strings.LastIndexAny(before, ";&|")+1:]; !contains(before, o.programs...) {
				continue
			}
			from := at
			spaced := o.programs[0] != "mysql" || strings.Contains(before, "sshpass")
			for from < len(text) && (spaced && blank(text[from]) || text[from] == '=') {
				from++
			}
			end := valueEnd(text, from)
			if o.name == "LOGIN_PASSWORD" {
				colon := strings.IndexByte(text[from:end], ':')
				if colon < 0 {
					continue
				}
				if from += colon + 1; end > from && strings.ContainsRune(`"'`, rune(text[end-1])) {
					end--
				}
			}
			add(from, end, o.name)
		}
	}
}

var known = lazyregexp.New(`gh[pousr]_[A-Za-z0-9]{20}\w*|glpat-[\w-]{15}[\w-]*|xox[abprs]-[\w-]{10}[\w-]*|` +
	`AKIA[A-Z0-9]{16}|eyJ[\w-]{10}[\w-]*\.[\w-]{10}[\w-]*\.[\w-]+`)

// tokens finds tokens of a known form.
func tokens(text string, add func(from, to int, name string)) {
	if !contains(text, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "glpat-", "xox", "AKIA", "eyJ") {
		return
	}
	for _, m := range known.Get().FindAllStringIndex(text, -1) {
		add(m[0], m[1], "TOKEN")
	}
}

// ends are the characters that end a word outside of quotes.
const ends = " \t\n`;&|<>(){}"

// valueEnd returns the end of the word at an offset, with its quotes.
func valueEnd(text string, at int) int {
	if at >= len(text) {
		return at
	}
	rest := text[at:min(len(text), at+maxValue)]
	if q := rest[0]; q == '"' || q == '\'' {
		if i := strings.IndexByte(rest[1:], q); i >= 0 {
			return at + i + 2
		}
	}
	if strings.ContainsRune(ends, rune(rest[0])) {
		return at
	}
	if i := strings.IndexAny(rest[1:], ends+`"'`); i >= 0 {
		return at + i + 1
	}
	return at + len(rest)
}

// plain are values that are no secrets: references to variables and files, switches, small numbers.
var plain = lazyregexp.New("^(?:|[$~.%`-].*|/.*/.*|(?i:true|false|yes|no|on|off|none|null)|\\d{1,3})$")

func harmless(value string) bool {
	return len(value) < 4096 && plain.MatchString(strings.Trim(value, `"'`))
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func blank(c byte) bool { return c == ' ' || c == '\t' }
