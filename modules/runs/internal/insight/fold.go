package insight

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of the failure groups of one run. A failure beyond them joins the last group of its task, or is not told.
const (
	maxGroups     = 500
	maxGroupHosts = 20
	maxMessage    = 4096
)

// folder groups failures that are alike.
type folder struct {
	groups []*runs.FailureGroup
	index  map[string]*runs.FailureGroup
}

func newFolder() folder { return folder{index: map[string]*runs.FailureGroup{}} }

func (f *folder) add(e *runs.Event) {
	outcome := runs.HostFailed
	if e.Type == runs.EventHostUnreachable {
		outcome = runs.HostUnreachable
	}
	msg := reason(e)
	if len(msg) > maxMessage {
		msg = strings.ToValidUTF8(msg[:maxMessage], "")
	}
	key := e.Play + "\x00" + e.Task + "\x00" + string(outcome) + "\x00" + alike(msg, e.Host)
	g := f.index[key]
	if g == nil {
		if len(f.groups) >= maxGroups {
			return
		}
		g = &runs.FailureGroup{Task: e.Task, Message: msg, Outcome: outcome}
		f.index[key] = g
		f.groups = append(f.groups, g)
	}
	g.Count++
	if len(g.Hosts) < maxGroupHosts && !slices.Contains(g.Hosts, e.Host) {
		g.Hosts = append(g.Hosts, e.Host)
	}
}

// reason is why a result failed: its message, and of a command, whose message is always the same, the last line that
// it printed about it.
func reason(e *runs.Event) string {
	said := strings.TrimSpace(cmp.Or(strings.TrimSpace(e.Stderr), e.Stdout))
	if e.Message == "" {
		return said
	}
	if e.RC == nil || *e.RC == 0 {
		return e.Message
	}
	last := said[strings.LastIndexByte(said, '\n')+1:]
	if last == "" || strings.Contains(e.Message, last) {
		return e.Message
	}
	return e.Message + ": " + last
}

var (
	paths  = regexp.MustCompile(`(?:/[^\s/'":,;()]+)+/?`)
	digits = regexp.MustCompile(`0x[0-9a-fA-F]+|[0-9]+`)
)

// alike returns a message without what tells one host's from another's.
func alike(msg, host string) string {
	if host != "" {
		msg = replaceName(msg, host)
	}
	return digits.ReplaceAllString(paths.ReplaceAllString(msg, "<path>"), "#")
}

// replaceName replaces a host's name where it stands by itself: a short one is a part of many words.
func replaceName(msg, host string) string {
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
		if inWord(before) || inWord(after) {
			b.WriteString(host)
		} else {
			b.WriteString("<host>")
		}
		at = end
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// list returns copies of the groups, the largest first.
func (f *folder) list() []runs.FailureGroup {
	out := make([]runs.FailureGroup, len(f.groups))
	for i, g := range f.groups {
		out[i] = *g
		out[i].Hosts = slices.Clone(g.Hosts)
	}
	slices.SortStableFunc(out, func(a, b runs.FailureGroup) int { return cmp.Compare(b.Count, a.Count) })
	return out
}
