package insight

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of the failure groups of one run. A failure beyond maxGroups is left out. A host beyond maxPlaces is counted
// but not listed, and its failures are never marked as rescued.
const (
	maxGroups     = 500
	maxPlaces     = 200_000
	maxGroupHosts = 20
	maxMessage    = 4096
)

// folder groups failures with similar messages and the same outcome.
type folder struct {
	groups []*group
	index  map[string]*group
	places int // hosts of all groups
}

// group is a failure that hosts share.
type group struct {
	runs.FailureGroup
	alike string         // the rest of its key
	hosts []string       // in order of appearance, including rescued ones
	count map[string]int // by host
}

func newFolder() folder { return folder{index: map[string]*group{}} }

func (f *folder) add(e *runs.Event) {
	outcome := runs.HostFailed
	switch {
	case e.Ignored:
		outcome = runs.HostIgnored
	case e.Type == runs.EventHostUnreachable:
		outcome = runs.HostUnreachable
	}
	msg := reason(e)
	if len(msg) > maxMessage {
		msg = strings.ToValidUTF8(msg[:maxMessage], "")
	}
	f.count(runs.FailureGroup{Task: e.Task, Message: msg, Outcome: outcome},
		e.Play+"\x00"+e.Task+"\x00"+normalizeMessage(msg, e.Host), e.Host, 1)
}

// count adds n failures of a host to their group.
func (f *folder) count(as runs.FailureGroup, alike, host string, n int) {
	key := string(as.Outcome) + "\x00" + alike
	g := f.index[key]
	if g == nil {
		if len(f.groups) >= maxGroups {
			return
		}
		g = &group{FailureGroup: as, alike: alike, count: map[string]int{}}
		f.index[key] = g
		f.groups = append(f.groups, g)
	}
	g.Count += n
	if _, known := g.count[host]; !known {
		if f.places >= maxPlaces {
			return
		}
		f.places++
		g.hosts = append(g.hosts, host)
	}
	g.count[host] += n
}

// rescue moves the failures of a host to groups of rescued failures.
func (f *folder) rescue(host string) {
	for _, g := range f.groups {
		if n := g.count[host]; n > 0 && g.Outcome == runs.HostFailed {
			g.Count, g.count[host] = g.Count-n, 0
			f.count(runs.FailureGroup{Task: g.Task, Message: g.messageOf(host), Outcome: runs.HostRescued}, g.alike, host, n)
		}
	}
}

// messageOf returns the group's message with another host's name in place of the first host's.
func (g *group) messageOf(host string) string { return replaceName(g.Message, g.hosts[0], host) }

// reason returns why a result failed: its message, and for a command the last line of its output too, since the
// message of a failed command is always the same.
func reason(e *runs.Event) string {
	output := strings.TrimSpace(cmp.Or(strings.TrimSpace(e.Stderr), e.Stdout))
	if e.Message == "" {
		return output
	}
	if e.RC == nil || *e.RC == 0 {
		return e.Message
	}
	last := output[strings.LastIndexByte(output, '\n')+1:]
	if last == "" || strings.Contains(e.Message, last) {
		return e.Message
	}
	return e.Message + ": " + last
}

var (
	paths  = lazyregexp.New(`(?:/[^\s/'":,;()]+)+/?`)
	digits = lazyregexp.New(`0x[0-9a-fA-F]+|[0-9]+`)
)

// normalizeMessage replaces the parts of a message that differ between hosts: the host's name, paths and numbers.
func normalizeMessage(msg, host string) string {
	return digits.ReplaceAllString(paths.ReplaceAllString(replaceName(msg, host, "<host>"), "<path>"), "#")
}

// replaceName replaces a host's name where it is a whole word, since a short name is part of many words.
func replaceName(msg, host, with string) string {
	if host == "" {
		return msg
	}
	var b strings.Builder
	for at := 0; ; {
		i := strings.Index(msg[at:], host)
		if i < 0 {
			return b.String() + msg[at:]
		}
		i += at
		end := i + len(host)
		before, _ := utf8.DecodeLastRuneInString(msg[:i])
		after, _ := utf8.DecodeRuneInString(msg[end:])
		b.WriteString(msg[at:i])
		if inToken(before) || inToken(after) {
			b.WriteString(host)
		} else {
			b.WriteString(with)
		}
		at = end
	}
}

func inToken(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// list returns copies of the groups: failed before rescued before ignored, and larger groups first.
func (f *folder) list() []runs.FailureGroup {
	out := make([]runs.FailureGroup, 0, len(f.groups))
	for _, g := range f.groups {
		one := g.FailureGroup
		for _, h := range g.hosts {
			if g.count[h] > 0 && len(one.Hosts) < maxGroupHosts {
				one.Hosts = append(one.Hosts, h)
			}
		}
		if len(one.Hosts) > 0 {
			one.Message = g.messageOf(one.Hosts[0])
		}
		if one.Count > 0 {
			out = append(out, one)
		}
	}
	slices.SortStableFunc(out, func(a, b runs.FailureGroup) int {
		return cmp.Or(cmp.Compare(harm(b.Outcome), harm(a.Outcome)), cmp.Compare(b.Count, a.Count))
	})
	return out
}

// harm orders outcomes by severity. An unreachable host ranks as a failed one.
func harm(o runs.Outcome) int {
	switch o {
	case runs.HostIgnored:
		return 0
	case runs.HostRescued:
		return 1
	default:
		return 2
	}
}
