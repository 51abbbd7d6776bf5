package ansible

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/runs"
)

// textCap is the maximum of bytes in one text member of an event.
const textCap = 16 << 10

// versionCap is the maximum of bytes in Ansible's version.
const versionCap = 64

// maxHosts bounds the number of hosts with a result that are kept.
const maxHosts = 1 << 20

// translator turns records into events and keeps the values for the end of the run.
type translator struct {
	version string // of Ansible
	play    string
	touched map[string]bool
	stats   map[string]hostStats // nil until the recap
	notes   *notes
	bound   string // why a program becomes nobody else on this machine, empty if it can
	refused bool   // a task failed for that
}

func newTranslator(n *notes) *translator { return &translator{touched: map[string]bool{}, notes: n} }

// translate returns the events of a record, none for one that is only used at the end.
func (t *translator) translate(r record) []runs.Event {
	e := runs.Event{At: time.UnixMicro(int64(r.Time * 1e6)).UTC(), Play: t.play, Task: r.Name, TaskID: r.Task,
		Host: r.Host}
	switch r.Ev {
	case "start":
		t.version = r.Version[:min(len(r.Version), versionCap)]
		return nil
	case "play":
		t.play = r.Play
		t.notes.play(r)
		e.Type, e.Play = runs.EventPlayStarted, r.Play
	case "task":
		t.notes.tasks++
		e.Type, e.Action, e.Path, e.Role = runs.EventTaskStarted, r.Action, r.Path, r.Role
		e.Handler, e.CheckMode = r.Handler, r.Check
	case "result", "item", "retry":
		if !t.result(&e, r) {
			return nil
		}
	case "facts":
		e.Type, e.Facts = runs.EventFacts, r.Facts
	case "warning":
		t.notes.warning(r.Text)
		e = runs.Event{At: e.At, Type: runs.EventWarning, Message: r.Text}
	case "outputs":
		return outputs(e.At, r)
	case "stats":
		t.stats = r.Hosts
		if t.stats == nil {
			t.stats = map[string]hostStats{}
		}
		e = runs.Event{At: e.At, Type: runs.EventStats, Stats: recap(r.Hosts)}
	default:
		return nil
	}
	e.Truncated = r.Cut
	capTexts(&e)
	return []runs.Event{e}
}

// result fills an event from the record of a host, an item or a retry.
func (t *translator) result(e *runs.Event, r record) bool {
	types := map[string]map[string]runs.EventType{
		"result": {"ok": runs.EventHostOK, "failed": runs.EventHostFailed, "skipped": runs.EventHostSkipped,
			"unreachable": runs.EventHostUnreachable},
		"item":  {"ok": runs.EventItemOK, "failed": runs.EventItemFailed, "skipped": runs.EventItemSkipped},
		"retry": {"": runs.EventHostRetry},
	}
	e.Type = types[r.Ev][r.Status]
	if e.Type == "" {
		return false
	}
	if r.Ev == "result" && len(t.touched) < maxHosts {
		t.touched[r.Host] = true
	}
	e.Item, e.Ignored, e.DurationMS = r.Item, r.Ignored, r.MS
	// A failed command often reports a change; the recap does not count it, unless the failure is ignored.
	e.Changed = r.Changed && (r.Status == "ok" || r.Status == "failed" && r.Ignored)
	e.Message, e.Stdout, e.Stderr, e.RC, e.Diff = r.Msg, r.Out, r.Err, r.RC, r.Diff
	e.Notified = r.Notified[:min(len(r.Notified), runs.MaxNotified)]
	if e.Changed {
		e.Resource = r.Resource
	}
	if r.Ev == "retry" {
		e.Message = strings.TrimSpace(fmt.Sprintf("Attempt %d of %d failed. %s", r.Attempt, r.Of, r.Msg))
	}
	if r.Became && t.bound != "" {
		e.Message = strings.TrimSpace(e.Message + " (" + t.bound + ")")
		t.refused = t.refused || !r.Ignored
	}
	if r.Status == "failed" && wantsTerminal(r) {
		e.Message += " (The host's sudoers file requires a terminal, which pipelining does not give: " +
			"drop requiretty there, or switch pipelining off for this run.)"
	}
	if r.Status == "unreachable" {
		e.Message += t.notes.hostKey(r)
	}
	return true
}

// wantsTerminal recognises sudo's refusal on a host whose sudoers file has requiretty.
func wantsTerminal(r record) bool {
	for _, s := range []string{r.Msg, r.Out, r.Err} {
		if strings.Contains(s, "you must have a tty to run sudo") {
			return true
		}
	}
	return false
}

// outputs returns one event for the set_stats values of the whole run and one for each host that has values of its
// own.
func outputs(at time.Time, r record) []runs.Event {
	var out []runs.Event
	for _, name := range slices.Sorted(maps.Keys(r.Custom)) {
		e := runs.Event{At: at, Type: runs.EventOutputs, Outputs: r.Custom[name], Truncated: r.Cut}
		if name != "_run" {
			e.Host = name
		}
		out = append(out, e)
	}
	return out
}

func recap(hosts map[string]hostStats) json.RawMessage {
	out := make(map[string]runs.HostStats, len(hosts))
	for h, s := range hosts {
		out[h] = runs.HostStats{
			OK: s.OK, Changed: s.Changed, Failed: s.Failures, Unreachable: s.Unreachable,
			Skipped: s.Skipped, Rescued: s.Rescued, Ignored: s.Ignored,
		}
	}
	b, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage("{}") // integers and strings always marshal
	}
	return b
}

// capTexts cuts every text of an event at the cap, at a character boundary.
func capTexts(e *runs.Event) {
	for _, s := range e.Texts() {
		if len(*s) <= textCap {
			continue
		}
		n := textCap
		for n > 0 && !utf8.RuneStart((*s)[n]) {
			n--
		}
		*s, e.Truncated = (*s)[:n], true
	}
}
