package demo

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

func itoa(n int) string { return strconv.Itoa(n) }

// result is the outcome of a task on a host.
type result byte

const (
	isOK result = iota
	isChanged
	isSkipped
	isFailed
	isUnreachable
)

// outcome is a result with what the tool says about it.
type outcome struct {
	result
	message       string
	before, after string // of a change
}

// act is one simulated execution of a playbook.
type act struct {
	*playbook
	hosts  []string
	dryRun bool
	// outcome returns the result of a task, by its number in the playbook, on a host.
	outcome func(host, task int) outcome
	pace    time.Duration // the mean time of a task on a host
	group   int           // how many hosts report at once
	quiet   int           // of so many hosts that are ok, the log shows one; 0 shows all
	rng     *rand.Rand
}

// step is what an execution reports after a pause. The events have neither numbers nor times.
type step struct {
	after  time.Duration
	events []runs.Event
	text   string
}

// The colours of the tool's output.
const (
	green  = "\x1b[0;32m"
	yellow = "\x1b[0;33m"
	cyan   = "\x1b[0;36m"
	red    = "\x1b[0;31m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

// heading is a line that the tool fills up with stars.
func heading(kind, name string) string {
	title := kind + " [" + name + "]"
	return "\n" + bold + title + plain + " " + strings.Repeat("*", max(3, 78-len(title))) + "\n"
}

// steps plays the act.
func (a *act) steps() iter.Seq[step] {
	return func(yield func(step) bool) {
		stats := make([]runs.HostStats, len(a.hosts))
		n := 0
		for _, p := range a.plays {
			s := step{text: heading("PLAY", p.name), events: []runs.Event{{Type: runs.EventPlayStarted, Play: p.name}}}
			if !yield(s) {
				return
			}
			for _, t := range p.tasks {
				if !a.task(yield, p.name, t, n, stats) {
					return
				}
				n++
			}
		}
		yield(a.recap(stats))
	}
}

// task plays a task on the hosts that are left.
func (a *act) task(yield func(step) bool, playName string, t task, n int, stats []runs.HostStats) bool {
	id := fmt.Sprintf("%s-%02d", strings.TrimSuffix(a.file, ".yml"), n+1)
	begin := runs.Event{Type: runs.EventTaskStarted, Play: playName, Task: t.name, TaskID: id, Action: t.action,
		Path: t.path, Role: t.role(), CheckMode: a.dryRun}
	if !yield(step{text: heading("TASK", t.name), events: []runs.Event{begin}}) {
		return false
	}
	var s step
	var b strings.Builder
	seen := 0
	for h, host := range a.hosts {
		if stats[h].Failed+stats[h].Unreachable > 0 {
			continue
		}
		o := a.outcome(h, n)
		took := a.pace/2 + time.Duration(a.rng.Int64N(int64(a.pace)+1))
		e := runs.Event{Play: playName, Task: t.name, TaskID: id, Host: host, Message: o.message,
			DurationMS: took.Milliseconds()}
		a.report(&e, &b, t, o, &stats[h], seen)
		seen++
		s.after = max(s.after, took)
		if s.events = append(s.events, e); len(s.events) < max(1, a.group) && h < len(a.hosts)-1 {
			continue
		}
		s.text = b.String()
		if !yield(s) {
			return false
		}
		s = step{}
		b.Reset()
	}
	s.text = b.String()
	return len(s.events) == 0 || yield(s)
}

// report completes the event of a result, counts it, and writes the line of the log.
func (a *act) report(e *runs.Event, b *strings.Builder, t task, o outcome, s *runs.HostStats, seen int) {
	shown := a.quiet == 0 || seen%a.quiet == 0
	switch o.result {
	case isSkipped:
		e.Type, e.Message = runs.EventHostSkipped, "Conditional result was False"
		s.Skipped++
		line(b, shown, cyan, "skipping: [%s]", e.Host)
	case isFailed:
		e.Type, e.RC = runs.EventHostFailed, new(int)
		*e.RC = 1
		s.Failed++
		line(b, true, red, `fatal: [%s]: FAILED! => {"changed": false, "msg": %q, "rc": 1}`, e.Host, o.message)
	case isUnreachable:
		e.Type = runs.EventHostUnreachable
		s.Unreachable++
		line(b, true, red, `fatal: [%s]: UNREACHABLE! => {"changed": false, "msg": %q, "unreachable": true}`, e.Host,
			o.message)
	case isChanged:
		e.Type, e.Changed = runs.EventHostOK, true
		s.OK++
		s.Changed++
		if o.before != o.after {
			e.Resource, e.Diff = t.resource, difference(t.resource, o)
			line(b, true, "", "--- before: %s\n+++ after: %s\n%s-%s%s\n%s+%s%s", t.resource, t.resource, red, o.before, plain,
				green, o.after, plain)
		}
		line(b, true, yellow, "changed: [%s]", e.Host)
	default:
		e.Type = runs.EventHostOK
		s.OK++
		line(b, shown, green, "ok: [%s]", e.Host)
	}
}

func line(b *strings.Builder, shown bool, colour, format string, args ...any) {
	if !shown {
		return
	}
	b.WriteString(colour)
	fmt.Fprintf(b, format, args...)
	if colour != "" {
		b.WriteString(plain)
	}
	b.WriteByte('\n')
}

// difference returns a difference as the tool reports it.
func difference(resource string, o outcome) json.RawMessage {
	_, name, _ := strings.Cut(resource, " ")
	raw, err := json.Marshal([]map[string]string{{"before_header": name, "after_header": name, "before": o.before + "\n",
		"after": o.after + "\n"}})
	if err != nil { // texts can be encoded
		return nil
	}
	return raw
}

// recap is the end of an execution that was not cut short.
func (a *act) recap(stats []runs.HostStats) step {
	byHost := make(map[string]runs.HostStats, len(stats))
	b := &strings.Builder{}
	fmt.Fprintf(b, "\n%sPLAY RECAP%s %s\n", bold, plain, strings.Repeat("*", 67))
	for h, s := range stats {
		byHost[a.hosts[h]] = s
		colour := green
		switch {
		case s.Failed+s.Unreachable > 0:
			colour = red
		case s.Changed > 0:
			colour = yellow
		}
		fmt.Fprintf(b, "%s%-26s%s : ok=%-4d changed=%-4d unreachable=%-4d failed=%-4d skipped=%-4d\n", colour, a.hosts[h],
			plain, s.OK, s.Changed, s.Unreachable, s.Failed, s.Skipped)
	}
	raw, err := json.Marshal(byHost)
	if err != nil { // numbers can be encoded
		raw = nil
	}
	return step{text: b.String(), events: []runs.Event{{Type: runs.EventStats, Stats: raw}}}
}

// alwaysOK is an outcome without changes and failures.
func alwaysOK(int, int) outcome { return outcome{} }
