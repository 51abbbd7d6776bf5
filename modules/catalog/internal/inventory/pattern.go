package inventory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// letters is the alphabet of letter ranges.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// maxBound prevents overflows in the arithmetic of ranges.
const maxBound = 1 << 50

// expand returns the host names of a host pattern and its port, nil if there is none. Its errors have no place. It
// builds at most maxHosts names and maxNames bytes.
func expand(pattern string) (names []string, port any, err error) {
	name, digits := address(pattern)
	if digits = strings.TrimLeft(digits, "0"); digits != "" {
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
			port = n
		} else {
			port = json.Number(digits)
		}
	}
	if !strings.Contains(name, "[") {
		return []string{name}, port, nil
	}
	names, err = ranges(name)
	return names, port, err
}

// ranges expands the ranges from left to right. It does not parse the ranges after an empty one.
func ranges(name string) ([]string, error) {
	if strings.Contains(name, "|") {
		return nil, fmt.Errorf("a name with a range cannot have a |, got %q", short(name))
	}
	expanded, tail := []string{""}, name
	for strings.Contains(tail, "[") && len(expanded) > 0 {
		first, last := strings.IndexByte(tail, '['), strings.IndexByte(tail, ']')
		if last < 0 {
			return nil, fmt.Errorf("expected a ] to end the range in %q", short(name))
		}
		first, last = min(first, last), max(first, last)
		prefix, inside := tail[:first], tail[first+1:last]
		tail = tail[last+1:]
		r, err := span(inside)
		if err != nil {
			return nil, err
		}
		if r.count > maxHosts || len(expanded)*int(r.count) > maxHosts {
			return nil, fmt.Errorf("expected a range of at most %d hosts, got %q", maxHosts, short(name))
		}
		longest := len(expanded[len(expanded)-1]) + len(prefix) + len(tail) + max(r.width, 20)
		if len(expanded)*int(r.count) > maxNames/longest {
			return nil, fmt.Errorf("the names of the range have more than %d bytes in all", maxNames)
		}
		next := make([]string, 0, len(expanded)*int(r.count))
		for _, h := range expanded {
			for i := range r.count {
				next = append(next, h+prefix+r.at(i))
			}
		}
		expanded = next
	}
	for i := range expanded {
		expanded[i] += tail
	}
	return expanded, nil
}

// counter is a parsed range.
type counter struct {
	begin, step, count int64
	letters            bool
	width              int // minimum width of numbers with leading zeros
}

func (c counter) at(i int64) string {
	n := c.begin + i*c.step
	if c.letters {
		return letters[n : n+1]
	}
	s := strconv.FormatInt(n, 10)
	if missing := c.width - len(s); missing > 0 {
		sign := len(s) - len(strings.TrimPrefix(s, "-"))
		s = s[:sign] + strings.Repeat("0", missing) + s[sign:]
	}
	return s
}

// span parses the inside of a range: begin:end or begin:end:step.
func span(inside string) (counter, error) {
	bounds := strings.Split(inside, ":")
	if len(bounds) != 2 && len(bounds) != 3 {
		return counter{}, fmt.Errorf("expected a range [begin:end] or [begin:end:step], got [%s]", short(inside))
	}
	begin, end, step := bounds[0], bounds[1], "1"
	if len(bounds) == 3 {
		step = bounds[2]
	}
	begin = cmp.Or(begin, "0")
	if end == "" {
		return counter{}, fmt.Errorf("expected an end of the range [%s]", short(inside))
	}
	c := counter{}
	if begin[0] == '0' && len(begin) > 1 {
		if utf8.RuneCountInString(begin) != utf8.RuneCountInString(end) {
			return counter{},
				fmt.Errorf("expected a begin and an end of the same length in the range [%s], since it begins with 0",
					short(inside))
		}
		c.width = len(begin)
	}
	by, ok := integer(step)
	if !ok || by == 0 || by > maxBound || by < -maxBound {
		return counter{}, fmt.Errorf("expected a step other than 0 in the range [%s]", short(inside))
	}
	c.step = by
	from, to := int64(strings.Index(letters, begin)), int64(strings.Index(letters, end))
	if from >= 0 && to >= 0 {
		if from > to {
			return counter{}, fmt.Errorf("expected a begin that is not after the end in the range [%s]", short(inside))
		}
		c.letters, c.begin = true, from
		if by > 0 {
			c.count = (to-from)/by + 1
		}
		return c, nil
	}
	from, okFrom := integer(begin)
	to, okTo := integer(end)
	if !okFrom || !okTo || max(from, to) > maxBound || min(from, to) < -maxBound {
		return counter{}, fmt.Errorf("expected numbers, or single letters, in the range [%s]", short(inside))
	}
	c.begin = from
	switch to++; {
	case by > 0 && from < to:
		c.count = (to-from-1)/by + 1
	case by < 0 && from > to:
		c.count = (from-to-1)/-by + 1
	}
	return c, nil
}

// address splits a name and its port. Text that is not an address with a port is returned as the name.
func address(pattern string) (name, port string) {
	colon := strings.LastIndexByte(pattern, ':')
	if colon <= 0 || colon == len(pattern)-1 || strings.Trim(pattern[colon+1:], "0123456789") != "" {
		return pattern, ""
	}
	host, port := pattern[:colon], pattern[colon+1:]
	if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") && len(inner) > 1 {
		host = strings.TrimSuffix(inner, "]")
		// The port may also be inside the brackets.
		if h, p, ok := hostPort(host); ok {
			host, port = h, p
		}
	} else if _, _, ok := hostPort(pattern); !ok {
		return pattern, ""
	}
	if !hostname(host) && !ipv6(host) {
		return pattern, ""
	}
	return host, port
}

// hostPort splits a name with one colon outside of ranges and the digits after it.
func hostPort(s string) (host, port string, ok bool) {
	rest := s
	for rest != "" && rest[0] != ':' {
		if rest[0] == ']' {
			return "", "", false
		}
		if rest[0] != '[' {
			rest = rest[1:]
			continue
		}
		n := rangeLen(rest, 'z')
		if n == 0 {
			return "", "", false
		}
		rest = rest[n:]
	}
	if len(rest) < 2 || len(rest) == len(s) || strings.Trim(rest[1:], "0123456789") != "" {
		return "", "", false
	}
	return s[:len(s)-len(rest)], rest[1:], true
}

// rangeLen returns the length of the range at the start of s, which has two numbers, or two letters up to last, and an
// optional step. It returns zero if there is no range.
func rangeLen(s string, last byte) int {
	if s == "" || s[0] != '[' {
		return 0
	}
	end := strings.IndexByte(s, ']')
	if end < 0 {
		return 0
	}
	bounds := strings.Split(s[1:end], ":")
	if len(bounds) != 2 && len(bounds) != 3 {
		return 0
	}
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	letter := func(s string) bool { return len(s) == 1 && s[0]|0x20 >= 'a' && s[0]|0x20 <= last }
	if !(digits(bounds[0]) && digits(bounds[1])) && !(letter(bounds[0]) && letter(bounds[1])) ||
		len(bounds) == 3 && !digits(bounds[2]) {
		return 0
	}
	return end + 1
}

// hostname reports whether s is a host name: labels of letters, digits, _, - and ranges, separated by dots. A label
// does not start with -, and does not end with - or _.
func hostname(s string) bool {
	before := '.'
	for i := 0; i < len(s); {
		if n := rangeLen(s[i:], 'z'); n > 0 {
			before = '0'
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '.' && (before == '.' || before == '-' || before == '_'), r == '-' && before == '.':
			return false
		case r != '.' && r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r):
			return false
		}
		before = r
	}
	return before != '.' && before != '-' && before != '_'
}

// ipv6 reports whether s starts like an IPv6 address: eight parts, or up to six before a double colon. Like Ansible, it
// ignores the rest.
func ipv6(s string) bool {
	if strings.HasPrefix(s, "::") {
		return true
	}
	for parts := 1; ; parts++ {
		n := hexPart(s)
		if n == 0 {
			return false
		}
		s = s[n:]
		if parts == 8 || parts <= 6 && strings.HasPrefix(s, "::") {
			return true
		}
		if !strings.HasPrefix(s, ":") {
			return false
		}
		s = s[1:]
	}
}

// hexPart returns the length of the range, or of up to four hexadecimal digits, at the start of s.
func hexPart(s string) int {
	if n := rangeLen(s, 'f'); n > 0 {
		return n
	}
	n := 0
	for n < min(4, len(s)) && strings.IndexByte("0123456789abcdefABCDEF", s[n]) >= 0 {
		n++
	}
	return n
}
