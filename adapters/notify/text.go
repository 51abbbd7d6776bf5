package notify

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/plaintext"
	"github.com/writ-automation/writ/ports/runs"
)

// These bound texts, in characters.
const (
	maxName     = 120
	maxSentence = 400
)

// tone is how good the news is.
type tone int

const (
	good tone = iota
	bad
	neutral // neither success nor failure
	waiting // for approval
)

// colour is the tone in the form of the chat services.
func (t tone) colour() string { return fmt.Sprintf("#%06x", t.rgb()) }

func (t tone) rgb() int {
	return map[tone]int{good: 0x2e9e5b, bad: 0xd0342c, neutral: 0xd9930d, waiting: 0x2f6fde}[t]
}

// fact is one line of a report. Value is clean and not escaped. A literal one has no text from users.
type fact struct {
	label, value string
	literal      bool
}

// long reports whether the value needs the width of the message.
func (f fact) long() bool { return utf8.RuneCountInString(f.value) > 40 }

// in returns the value for some markup. The id of a run and what is literal are not escaped: they contain no markup,
// and users copy them.
func (f fact) in(most int, esc escaper) string {
	if f.literal || runID.MatchString(f.value) {
		esc = plain
	}
	return truncate(f.value, most, esc)
}

var runID = lazyregexp.New(`^run_[0-9a-z]{1,40}$`)

// report is the public part of a run. Its texts are clean lines without escapes.
type report struct {
	title  string
	tone   tone
	urgent bool // failed or interrupted
	facts  []fact
	run    string
	began  time.Time
	ended  time.Time
}

// reportOf returns the report of a run. It contains nothing of its variables, environment, outputs and command.
func reportOf(m notify.Message) report {
	r := m.Run
	out := report{run: plaintext.Line(r.ID, maxName), began: r.StartedAt, ended: r.EndedAt}
	if m.Drift != nil {
		out.drift(m)
		return out
	}
	verb, status := outcome(m, &out)
	out.title = name(r) + " " + verb
	out.add("Status", status)
	if !r.StartedAt.IsZero() && !r.EndedAt.IsZero() {
		out.add("Duration", r.EndedAt.Sub(r.StartedAt).Round(time.Second).String())
	}
	out.add("Hosts", hosts(r.Hosts))
	out.add("Asked by", plaintext.Line(cmp.Or(r.Actor.Name, r.Actor.ID, string(r.Actor.Type)), maxName))
	if m.Event == notify.Held && r.HeldBy() != nil {
		out.add("Held by", plaintext.Line(cmp.Or(r.HeldBy().Name, r.HeldBy().ID), maxName))
	}
	out.add("Error", plaintext.Line(r.Error, maxSentence))
	if n := len(r.Warnings); n > 0 {
		out.add("Warnings", strconv.Itoa(n))
	}
	out.add("Run", out.run)
	return out
}

// add adds a fact unless it is empty.
func (r *report) add(label, value string) {
	if value != "" {
		r.facts = append(r.facts, fact{label: label, value: value})
	}
}

// maxHosts bounds the names of hosts in a text.
const maxHosts = 5

// drift is the report of new drift.
func (r *report) drift(m notify.Message) {
	d := m.Drift
	r.title, r.tone = name(m.Run)+" found new drift", neutral
	known := max(d.HostCount, len(d.Hosts))
	r.add("New drift", count(d.New, "resource")+" on "+count(known, "host"))
	var names []string
	for _, host := range d.Hosts[:min(len(d.Hosts), maxHosts)] {
		if host = plaintext.Line(host, maxName); host != "" {
			names = append(names, host)
		}
	}
	hosts := strings.Join(names, ", ")
	if more := known - len(names); more > 0 && len(names) > 0 {
		hosts += fmt.Sprintf(" and %d more", more)
	}
	r.add("Hosts", hosts)
	r.add("Playbook", plaintext.Line(d.Playbook, maxName))
	r.add("Run", r.run)
	if m.Link != "" {
		r.facts = append(r.facts, fact{"Details", m.Link, true})
	}
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// when is the time of the event, or zero if it is unknown.
func (r *report) when() time.Time {
	if r.ended.IsZero() {
		return r.began
	}
	return r.ended
}

// lines is the report as plain text without its title.
func (r *report) lines() string {
	var b strings.Builder
	for i, f := range r.facts {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(f.label + ": " + f.value)
	}
	return b.String()
}

// outcome returns the event as a verb and as a status, and sets the tone.
func outcome(m notify.Message, r *report) (verb, status string) {
	if m.Event == notify.Held {
		r.tone = waiting
		if s := m.Run.Status; s != runs.PendingApproval { // decided before the delivery
			return "was held for approval", plaintext.Line(s.Shown(m.Run.Spec.DryRun), 40)
		}
		return "waits for approval", "waiting for approval"
	}
	switch s := m.Run.Status; s {
	case runs.Succeeded:
		if m.Run.Checked() {
			return "was checked", s.Shown(true)
		}
		return "succeeded", string(s)
	case runs.Failed:
		r.tone, r.urgent = bad, true
		return "failed", string(s)
	case runs.Interrupted:
		r.tone, r.urgent = bad, true
		return "was interrupted", string(s)
	case runs.Canceled:
		r.tone = neutral
		return "was canceled", string(s)
	case runs.Rejected:
		r.tone = neutral
		return "was rejected", string(s)
	default:
		r.tone = neutral
		return "has ended", plaintext.Line(string(s), 40)
	}
}

// name is the run's own, or else that of its tool with its playbook.
func name(r *runs.Run) string {
	tool := plaintext.Line(r.Spec.Tool+" "+r.Spec.Playbook, maxName)
	return cmp.Or(plaintext.Line(r.Name, maxName), tool, "A run")
}

// hosts counts hosts by their outcome.
func hosts(c runs.HostCounts) string {
	var out []string
	for _, o := range []runs.Outcome{
		runs.HostOK, runs.HostChanged, runs.HostSkipped, runs.HostRescued, runs.HostIgnored, runs.HostFailed,
		runs.HostUnreachable, runs.HostIncomplete,
	} {
		if c[o] > 0 {
			out = append(out, fmt.Sprintf("%d %s", c[o], o))
		}
	}
	return strings.Join(out, ", ")
}
