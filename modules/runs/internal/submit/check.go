package submit

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of a request beyond those that the contract states. They keep a record small enough to be read at once.
const (
	maxPath    = 4096
	maxText    = 64 << 10 // a limit pattern: a single argument of a process
	maxCommand = 4 << 20
	maxItems   = 1000
	maxHosts   = 100_000
	maxFields  = 50
	maxSeconds = 1<<31 - 1
)

// checks collects the errors of a request, by path.
type checks struct {
	prefix string
	fields *[]fault.Field
}

func newChecks() checks { return checks{fields: new([]fault.Field)} }

// under returns checks whose paths begin with the given one; findings go to the same list.
func (c checks) under(path string) checks {
	return checks{prefix: c.prefix + path + ".", fields: c.fields}
}

func (c checks) bad(path, format string, args ...any) {
	if len(*c.fields) < maxFields {
		*c.fields = append(*c.fields, fault.Field{Location: c.prefix + path, Message: fmt.Sprintf(format, args...)})
	}
}

// fault returns an Invalid fault that names every finding, nil where there is none.
func (c checks) fault() error {
	if len(*c.fields) == 0 {
		return nil
	}
	first := (*c.fields)[0]
	f := fault.BadField(first.Location, "%s", first.Message)
	f.Fields = *c.fields
	return f
}

// text checks a string that is stored: both databases refuse NUL, and one of them invalid UTF-8.
func (c checks) text(path, s string, maxBytes int) bool {
	switch {
	case len(s) > maxBytes:
		c.bad(path, "is longer than %d bytes", maxBytes)
	case strings.IndexByte(s, 0) >= 0:
		c.bad(path, "holds a NUL character")
	case !utf8.ValidString(s):
		c.bad(path, "is not UTF-8")
	default:
		return true
	}
	return false
}

// runes checks a string that people read; its length counts characters.
func (c checks) runes(path, s string, most int) {
	if c.text(path, s, most*utf8.UTFMax) && utf8.RuneCountInString(s) > most {
		c.bad(path, "is longer than %d characters", most)
	}
}

// argument checks a string that becomes an argument of a process.
func (c checks) argument(path, s string, maxBytes int) {
	if !c.text(path, s, maxBytes) {
		return
	}
	switch {
	case strings.HasPrefix(s, "-"):
		c.bad(path, "must not start with -")
	case strings.ContainsAny(s, "\r\n"):
		c.bad(path, "holds a line break")
	}
}

func (c checks) count(path string, n int) bool {
	if n > maxItems {
		c.bad(path, "has more than %d members", maxItems)
		return false
	}
	return true
}

// target checks the form of a notification target.
func (c checks) target(n runs.Notification) {
	for _, f := range notify.Check(n) {
		c.bad(f.Location, "%s", f.Message)
	}
}
