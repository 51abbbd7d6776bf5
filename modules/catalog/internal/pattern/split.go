package pattern

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// Limits of a limit.
const (
	maxLimit = 64 << 10 // bytes
	maxParts = 10_000
)

var (
	// parts matches the patterns of a limit without commas, where colons are inside of brackets or between patterns.
	parts = lazyregexp.New(`(?:[^\s:\[\]]|\[[^\]]*\])+`)
	// label matches a label of a host name, which may contain ranges.
	label = lazyregexp.New(`(?i)^(?:[\p{L}\p{N}_]|` + span + `)(?:[\p{L}\p{N}_-]|` + span + `)*$`)
	port  = lazyregexp.New(`^((?:[^:\[\]]|\[[^\]]*\])*|\[[^\]]+\]):[0-9]+$`)
	// subscript matches [i], [a:b], [a:] and the old form [a-b].
	subscript = lazyregexp.New(`^(.+)\[(?:(-?[0-9]+)|([0-9]+)[:-]([0-9]*))\]$`)
)

// span matches a range in a host name.
const span = `\[(?:[a-z]:[a-z]|[0-9]+:[0-9]+)(?::[0-9]+)?\]`

// Check refuses a malformed limit, whatever the inventory. An Invalid fault names limit.
func Check(limit string) error {
	_, err := split(limit)
	return err
}

// split returns the patterns of a limit. An Invalid fault names limit.
func split(limit string) ([]string, error) {
	switch {
	case len(limit) > maxLimit:
		return nil, bad("is longer than %d bytes", maxLimit)
	case !utf8.ValidString(limit) || strings.ContainsFunc(limit, unicode.IsControl):
		return nil, bad("expected text on one line")
	case strings.HasPrefix(strings.TrimSpace(limit), "-"):
		return nil, bad("must not start with -")
	}
	for token := range strings.FieldsFuncSeq(limit, func(r rune) bool { return strings.ContainsRune(",:;!& ", r) }) {
		if strings.HasPrefix(token, "@") {
			return nil, bad("must not name a file")
		}
	}
	var list []string
	switch {
	case strings.Contains(limit, ","):
		list = strings.Split(limit, ",")
	case address(limit):
		list = []string{limit}
	default:
		list = parts.Get().FindAllString(limit, -1)
	}
	if len(list) > maxParts {
		return nil, bad("has more than %d patterns", maxParts)
	}
	out := list[:0:0]
	for _, p := range list {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out, nil
}

// address reports whether a text is one address or one host name, with or without a port, so that its colons are not
// separators.
func address(s string) bool {
	if m := port.FindStringSubmatch(s); m != nil {
		s = strings.TrimSuffix(strings.TrimPrefix(m[1], "["), "]")
	}
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		return true
	}
	for part := range strings.SplitSeq(s, ".") {
		if !label.MatchString(part) || strings.HasSuffix(part, "-") || strings.HasSuffix(part, "_") {
			return false
		}
	}
	return true
}

// slice is a subscript: one position, or the positions from first to last.
type slice struct {
	one         bool
	first, last int // last -1 means up to the end
}

// cutSubscript splits a pattern into the pattern without its subscript and the subscript, nil for none. A regular
// expression has no subscript.
func cutSubscript(p string) (string, *slice) {
	if strings.HasPrefix(p, "~") {
		return p, nil
	}
	m := subscript.FindStringSubmatch(p)
	switch {
	case m == nil:
		return p, nil
	case m[2] != "":
		return m[1], &slice{one: true, first: number(m[2])}
	case m[4] == "":
		return m[1], &slice{first: number(m[3]), last: -1}
	}
	last := number(m[4])
	if last == 0 { // Ansible treats a last position of 0 as missing, and selects only the first host
		return m[1], &slice{one: true, first: number(m[3])}
	}
	return m[1], &slice{first: number(m[3]), last: last}
}

// number parses digits. It replaces a number that is too large by one beyond every inventory.
func number(digits string) int {
	const beyond = 1 << 30
	n, err := strconv.Atoi(digits)
	if err != nil || n > beyond || n < -beyond {
		if strings.HasPrefix(digits, "-") {
			return -beyond
		}
		return beyond
	}
	return n
}

// cut applies a subscript. ok is false if the position does not exist, which Ansible refuses.
func (s *slice) cut(list []int32) (out []int32, ok bool) {
	n := len(list)
	if s == nil || n == 0 {
		return list, true
	}
	if s.one {
		at := s.first
		if at < 0 {
			at += n
		}
		if at < 0 || at >= n {
			return nil, false
		}
		return list[at : at+1], true
	}
	last := n - 1
	if s.last >= 0 {
		last = min(s.last, n-1)
	}
	if s.first > last {
		return nil, true
	}
	return list[s.first : last+1], true
}

func bad(format string, args ...any) error { return fault.BadField("limit", format, args...) }
