package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/plaintext"
)

// maxSentence is the maximum length, in characters, of a reported line of a program's output.
const maxSentence = 300

// errBroken means that there is no usable mirror.
var errBroken = errors.New("no mirror")

// failed means that a program exited with another code than 0. Only sentence reads its text, because sentence removes
// secrets.
type failed struct {
	code   int
	stderr string
}

// The output of the program is left out, since it may contain a secret.
func (f *failed) Error() string { return fmt.Sprintf("exit code %d", f.code) }

// broken reports whether a damaged mirror caused the failure, so that a new mirror would repair it.
func broken(err error) bool {
	var f *failed
	if !errors.As(err, &f) {
		return false
	}
	for _, sign := range []string{
		"not a git repository", "bad object", "bad config", "corrupt", "unable to read", "did not send all necessary objects",
		"missing blob",
		"missing tree", "missing commit", "inflate", "is empty", "garbage at end", "bad signature", "invalid sha1 pointer",
		"broken link",
		"unable to resolve reference", "missing necessary objects", "could not parse", "unresolved deltas",
		"cannot be accessed",
	} {
		if strings.Contains(f.stderr, sign) {
			return !strings.Contains(f.stderr, "remote: ") // the failure is on the server
		}
	}
	return false
}

// syncFailed returns the fault for an error. It keeps faults and the error of the caller's context.
func (k *Checkouts) syncFailed(err error, s *session) error {
	var f *fault.Error
	var exit *failed
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &exit):
		return catalog.SyncFailed.New("git could not fetch the repository: %s", k.sentence(err, s))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("fetch a repository: %w", err)
	default:
		return catalog.SyncFailed.New("the repository could not be fetched").Because(err)
	}
}

var (
	userInfo = lazyregexp.New(`([A-Za-z][A-Za-z0-9+.-]*://)[^/@\s']*@`)
	// generic lists lines that only repeat that an earlier error occurred.
	generic = lazyregexp.New(`^(fatal: )?(Could not read from remote repository|the remote end hung up|early EOF|index-pack failed|` +
		`fetch-pack: invalid index-pack output|expected flush|error in object|protocol error|Please make sure you have|and the repository exists|$)`)
)

// sentence returns the last line of output that explains the failure, without secrets and paths of this machine.
func (k *Checkouts) sentence(err error, s *session) string {
	var f *failed
	if !errors.As(err, &f) {
		return "it failed"
	}
	var lines []string
	for line := range strings.Lines(f.stderr) {
		line = strings.TrimSpace(line)
		if at := strings.LastIndexByte(line, '\r'); at >= 0 {
			line = line[at+1:]
		}
		lines = append(lines, line)
	}
	return k.clean(errorLine(lines), s)
}

// errorLine returns the last line that begins with fatal, or the line before it if that line is generic.
func errorLine(lines []string) string {
	specific := func(line string) bool { return !generic.MatchString(line) }
	for _, want := range []func(string) bool{
		func(l string) bool { return strings.HasPrefix(l, "fatal:") && specific(l) },
		func(l string) bool { return strings.HasPrefix(l, "error:") && specific(l) },
		specific,
		func(l string) bool { return l != "" },
	} {
		for _, line := range slices.Backward(lines) {
			if want(line) {
				return strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(line, "fatal:"), "error:"))
			}
		}
	}
	return "it printed no message"
}

// galaxyReason returns why ansible-galaxy failed: its last line, with the message of git about a clone. About a role it
// only warns, in lines of the width of a terminal, and its last line is an advice.
func galaxyReason(output string) string {
	const warning = "[WARNING]: - "
	lines := strings.Split(strings.TrimSpace(output), "\n")
	last := len(lines) - 1
	reason := strings.TrimPrefix(lines[last], "ERROR! ")
	before := unwrapped(lines[:last])
	if at := strings.LastIndex(before, warning); at >= 0 && strings.Contains(reason, "--ignore-errors") {
		reason = before[at+len(warning):]
	}
	if at := strings.LastIndex(before, "Cloning into "); at >= 0 && strings.Contains(before[at:], "fatal: ") {
		_, message, _ := strings.Cut(before[at:], "'...")
		message, _, _ = strings.Cut(message, "fatal: Could not read from remote repository")
		reason, _, _ = strings.Cut(reason, ": - ")
		reason += ": " + strings.TrimSpace(message)
	}
	return reason
}

// unwrapped joins lines that Ansible may have broken for a terminal, also within words, so that a secret is whole
// again.
func unwrapped(lines []string) string {
	const width = 79
	var b strings.Builder
	for n, line := range lines {
		b.WriteString(line)
		last, next := line[strings.LastIndexByte(line, ' ')+1:], ""
		if n+1 < len(lines) {
			next, _, _ = strings.Cut(lines[n+1], " ")
		}
		if len(last)+len(next) <= width && (!strings.HasSuffix(last, "-") || last == "-") {
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// clean removes secrets, users, paths of this machine and control characters from a line and limits its length.
func (k *Checkouts) clean(line string, s *session) string {
	if s != nil {
		for _, secret := range s.secrets {
			if len(secret) >= 3 {
				line = strings.ReplaceAll(line, secret, "***")
			}
		}
		line = strings.ReplaceAll(line, s.dir, "…")
	}
	line = userInfo.ReplaceAllString(line, "$1")
	line = strings.ReplaceAll(line, k.cfg.Dir, "…")
	return plaintext.Line(line, maxSentence)
}
