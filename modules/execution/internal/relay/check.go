package relay

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/writ-automation/writ/modules/execution/internal/admission"
	"github.com/writ-automation/writ/modules/execution/internal/summary"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds on the reports of workers, beyond those of the contract.
const (
	maxExecutors = 10_000
	maxVersion   = 128
	maxLabels    = 64
	maxLabel     = 255
	maxHead      = 64 << 10
	maxHost      = 255
	maxName      = 64 << 10 // of a task: a second limit after the tools, which cut earlier
)

var labelKey = lazyregexp.New(`^[a-z0-9][a-z0-9._/-]{0,62}$`)

// maxReason bounds the reason for a level, in bytes.
const maxReason = 1000

// plainIsolation reports whether the names of a level and a profile are plain ones, or empty.
func plainIsolation(i runs.Isolation) bool {
	return (i.Level == "" || warningCode.MatchString(i.Level)) && (i.Profile == "" || labelKey.MatchString(i.Profile))
}

// CheckClaim returns an Invalid fault that names the wrong member of a claim.
func CheckClaim(c *execution.RelayClaim) error {
	w := &c.Worker
	switch {
	case !admission.PeerName.MatchString(w.Name):
		return fault.BadField("worker.name",
			"expected up to 128 letters, digits, dots, _ and -, the first a letter or a digit")
	case w.Executors < 0 || w.Executors > maxExecutors:
		return fault.BadField("worker.executors", "expected a number from 0 to %d", maxExecutors)
	case len(w.Version) > maxVersion || !oneLine(w.Version):
		return fault.BadField("worker.version", "expected a line of at most %d bytes", maxVersion)
	case !plainIsolation(w.Isolation.Isolation) || len(w.Isolation.Limits) > maxLabels ||
		slices.ContainsFunc(w.Isolation.Limits, func(s string) bool { return !warningCode.MatchString(s) }) ||
		len(w.Isolation.Reason) > maxReason || !oneLine(w.Isolation.Reason) || w.Isolation.LandlockABI < 0 ||
		w.Isolation.LandlockABI > maxExecutors:
		return fault.BadField("worker.isolation", "expected short names, and a reason of at most %d bytes", maxReason)
	case len(w.Labels) > maxLabels:
		return fault.BadField("worker.labels", "has more than %d members", maxLabels)
	case len(c.Queues) > admission.MaxQueues:
		return fault.BadField("queues", "has more than %d members", admission.MaxQueues)
	case c.WaitSeconds < 0 || c.WaitSeconds > int(execution.RelayWait/time.Second):
		return fault.BadField("wait_seconds", "expected a number from 0 to %d", execution.RelayWait/time.Second)
	case len(c.Canceling) > execution.RelayList:
		return fault.BadField("canceling", "has more than %d members", execution.RelayList)
	case len(c.Heads) > execution.RelayHeads:
		return fault.BadField("heads", "has more than %d members", execution.RelayHeads)
	}
	for k, v := range w.Labels {
		if !labelKey.MatchString(k) {
			return fault.BadField("worker.labels", "has a key that is none: %.64q", k)
		}
		if utf8.RuneCountInString(v) > maxLabel || strings.IndexByte(v, 0) >= 0 || !utf8.ValidString(v) {
			return fault.BadField("worker.labels."+k, "expected a text of at most %d characters", maxLabel)
		}
	}
	for i, q := range c.Queues {
		if !admission.QueueName.MatchString(q) {
			return fault.BadField(fmt.Sprintf("queues[%d]", i), "is not the name of a queue")
		}
	}
	for i, h := range c.Heads {
		if len(h) > maxHead {
			return fault.BadField(fmt.Sprintf("heads[%d]", i), "is longer than %d bytes", maxHead)
		}
	}
	return nil
}

// oneLine reports whether a text is one line that both databases store unchanged.
func oneLine(s string) bool { return !strings.ContainsAny(s, "\x00\r\n") && utf8.ValidString(s) }

// count validates the number of items in a call.
func count(list string, n int) error {
	if n > execution.RelayList {
		return fault.BadField(list, "has more than %d members", execution.RelayList)
	}
	return nil
}

// checkHost validates the name of a host.
func checkHost(at, name string) error {
	if name == "" || len(name) > maxHost || !oneLine(name) {
		return fault.BadField(at, "is not the name of a host")
	}
	return nil
}

// numbers validates that both databases can store the counts.
func numbers(at string, list ...int) error {
	for _, n := range list {
		if n < 0 || n > math.MaxInt32 {
			return fault.BadField(at, "has a count that is none")
		}
	}
	return nil
}

func checkHosts(hosts []runs.HostSummary) error {
	if err := count("hosts", len(hosts)); err != nil {
		return err
	}
	for i := range hosts {
		h, at := &hosts[i], fmt.Sprintf("hosts[%d]", i)
		if err := checkHost(at+".host", h.Host); err != nil {
			return err
		}
		switch h.Worst {
		case runs.HostSkipped, runs.HostOK, runs.HostChanged, runs.HostIgnored, runs.HostRescued, runs.HostFailed,
			runs.HostUnreachable, runs.HostIncomplete:
		default:
			return fault.BadField(at+".worst", "%.32q is no outcome", h.Worst)
		}
		if err := numbers(at, h.OK, h.Changed, h.Failed, h.Unreachable, h.Skipped, h.Rescued, h.Ignored); err != nil {
			return err
		}
		if h.Duration < 0 {
			return fault.BadField(at+".duration_ms", "must not be negative")
		}
	}
	return nil
}

func checkTasks(tasks []runs.TaskSummary) error {
	if err := count("tasks", len(tasks)); err != nil {
		return err
	}
	for i := range tasks {
		t, at := &tasks[i], fmt.Sprintf("tasks[%d]", i)
		if t.Index < 0 || t.Index >= summary.MaxTasks {
			return fault.BadField(at+".index", "expected a number from 0 to %d", summary.MaxTasks-1)
		}
		for name, text := range map[string]string{".task": t.Task, ".task_id": t.TaskID, ".play": t.Play} {
			if len(text) > maxName || !utf8.ValidString(text) {
				return fault.BadField(at+name, "expected a text of at most %d bytes", maxName)
			}
		}
		if err := numbers(at, t.OK, t.Changed, t.Failed, t.Skipped, t.Hosts); err != nil {
			return err
		}
		if min(t.Duration, t.Mean, t.Max) < 0 {
			return fault.BadField(at+".duration_ms", "must not be negative")
		}
	}
	return nil
}

func checkFacts(facts []runs.HostFacts) error {
	if err := count("facts", len(facts)); err != nil {
		return err
	}
	for i := range facts {
		f, at := &facts[i], fmt.Sprintf("facts[%d]", i)
		if err := checkHost(at+".host", f.Host); err != nil {
			return err
		}
		if !moment(f.GatheredAt) || f.GatheredAt.IsZero() {
			return fault.BadField(at+".gathered_at", "is not when facts were gathered")
		}
		if len(f.Facts) > runs.MaxFacts {
			return fault.BadField(at+".facts", "are larger than %d bytes", runs.MaxFacts)
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(f.Facts, &object) != nil || object == nil {
			return fault.BadField(at+".facts", "expected an object")
		}
	}
	return nil
}

// moment reports whether a time is zero or may be the time of a run.
func moment(t time.Time) bool { return t.IsZero() || t.Year() >= 1970 && t.Year() <= 9999 }

func checkEvents(events []runs.Event) error {
	if err := count("events", len(events)); err != nil {
		return err
	}
	for i := range events {
		e, at := &events[i], fmt.Sprintf("events[%d]", i)
		switch e.Type {
		case runs.EventPlayStarted, runs.EventTaskStarted, runs.EventHostOK, runs.EventHostFailed, runs.EventHostUnreachable,
			runs.EventHostSkipped,
			runs.EventHostRetry, runs.EventItemOK, runs.EventItemFailed, runs.EventItemSkipped, runs.EventFacts,
			runs.EventOutputs,
			runs.EventStats, runs.EventWarning:
		case runs.EventStatus:
			return fault.BadField(at+".type", "status is written by the holder of the runs alone")
		default:
			return fault.BadField(at+".type", "%.32q is no type of events", e.Type)
		}
		switch {
		case e.Seq < 1:
			return fault.BadField(at+".seq", "expected a number from 1 on")
		case e.From != "" || e.To != "":
			return fault.BadField(at, "tells of a change of state")
		case !moment(e.At):
			return fault.BadField(at+".at", "is not when something happened")
		case len(e.Host) > maxName:
			return fault.BadField(at+".host", "is longer than %d bytes", maxName)
		case len(e.Action) > maxName || len(e.Path) > maxName || len(e.Role) > maxName || len(e.Resource) > maxName:
			return fault.BadField(at, "has an action, a path, a role or a resource of more than %d bytes", maxName)
		case len(e.Notified) > runs.MaxNotified ||
			slices.ContainsFunc(e.Notified, func(s string) bool { return len(s) > maxName }):
			return fault.BadField(at+".notified", "expected at most %d names of at most %d bytes", runs.MaxNotified, maxName)
		}
	}
	return nil
}
