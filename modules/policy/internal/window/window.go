// Package window computes when windows let runs start. It reads no clock, and every search in it is bounded.
package window

import (
	"time"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/policy"
)

// Window is a window with its times.
type Window struct {
	policy.Window
	times    policy.Times
	duration time.Duration
}

// Compile reads the times of a window. An Invalid fault names the field that is wrong.
func Compile(w policy.Window, c policy.Calendar) (Window, error) {
	out := Window{Window: w, duration: time.Duration(w.Duration) * time.Second}
	var err error
	if w.Cron != "" {
		out.times, err = c.Times(w.Cron, w.Timezone)
		return out, err
	}
	from, err := instant("from", w.From, w.Timezone, c)
	if err != nil {
		return out, err
	}
	to, err := instant("to", w.To, w.Timezone, c)
	if err != nil {
		return out, err
	}
	if !from.Before(to) {
		return out, fault.BadField("to", "must be after from")
	}
	out.duration = to.Sub(from)
	out.times = func(after time.Time) (time.Time, bool) { return from, from.After(after) }
	return out, nil
}

// localForms are the forms of a time without an offset.
func localForms() []string { return []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} }

func instant(field, text, zone string, c policy.Calendar) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC(), nil
	}
	for _, form := range localForms() {
		if reading, err := time.Parse(form, text); err == nil {
			return c.Instant(reading, zone)
		}
	}
	return time.Time{}, fault.BadField(field, "expected a time as %s, with or without an offset",
		"2026-03-29T01:30:00+01:00")
}

// searched bounds a search, in occurrences that are computed.
const searched = 5000

// at reports whether an instant is in the window, and until when that is so at least. A zero time is for ever.
func (w *Window) at(t time.Time) (inside bool, until time.Time) {
	first, ok := w.times(t.Add(-w.duration))
	switch {
	case !ok:
		return false, time.Time{}
	case first.After(t):
		return false, first
	default: // others may overlap or touch this occurrence
		return true, first.Add(w.duration)
	}
}

// Timing says when windows that apply to a run let it start.
func Timing(list []*Window, now time.Time) policy.Timing {
	closed, until := state(list, now)
	out := policy.Timing{Closed: closed, Again: until}
	for left := searched; closed != nil && !until.IsZero() && left > 0; left -= len(list) {
		out.Again = until
		if closed, until = state(list, until); closed == nil {
			out.Opens = out.Again
		}
	}
	if closed != nil && until.IsZero() {
		out.Again = until
	}
	return out
}

// state returns the window that closes an instant, nil if it is open, and until when that is so at least. A zero time
// is for ever.
func state(list []*Window, t time.Time) (closed *policy.WindowRule, until time.Time) {
	var allow, open bool
	var opens, ends, denied, denies time.Time
	for _, w := range list {
		inside, next := w.at(t)
		switch {
		case w.Mode == policy.DenyWindow && inside:
			closed, denied = w.worse(closed), later(denied, next)
		case w.Mode == policy.DenyWindow:
			denies = earlier(denies, next)
		case inside:
			open, ends = true, later(ends, next)
		default:
			opens = earlier(opens, next)
		}
		allow = allow || w.Mode == policy.AllowWindow
	}
	switch {
	case allow && !open:
		for _, w := range list {
			if w.Mode == policy.AllowWindow {
				closed = w.worse(closed)
			}
		}
		return closed, opens
	case closed != nil:
		return closed, denied
	default:
		return nil, earlier(denies, ends)
	}
}

// worse returns the rule of the window, or that of another closed one that takes precedence.
func (w *Window) worse(than *policy.WindowRule) *policy.WindowRule {
	if than != nil && (than.Outside == w.Outside && than.Name < w.Name ||
		than.Outside != w.Outside && than.Outside == policy.OutsideDeny) {
		return than
	}
	return &policy.WindowRule{ID: w.ID, Name: w.Name, Outside: w.Outside}
}

// later and earlier compare two times, of which the zero one does not count.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
