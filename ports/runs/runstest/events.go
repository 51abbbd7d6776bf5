package runstest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/runs"
)

func eventCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"every member survives":    eventMembers,
		"pages in order":           eventPages,
		"events held already":      eventAgain,
		"a gap":                    eventGap,
		"asking for the next":      eventAsk,
		"between status events":    eventStatusBetween,
		"a large batch":            eventLarge,
		"events of an unknown run": eventUnknown,
	}
}

func (e *env) events(t *testing.T, l runs.Lease, events ...runs.Event) (int64, error) {
	t.Helper()
	var next int64
	err := e.do(t, func(ctx context.Context) error {
		var err error
		next, err = e.Events.AppendEvents(ctx, l, events)
		return err
	})
	return next, err
}

func (e *env) all(t *testing.T, id string, after int64, limit int) []runs.Event {
	t.Helper()
	list, err := e.Events.Events(t.Context(), id, after, limit)
	if err != nil {
		t.Fatalf("events: %v", err)
	}
	return list
}

// series makes events with the given sequence numbers.
func series(from, to int64) []runs.Event {
	var out []runs.Event
	for n := from; n <= to; n++ {
		out = append(out, runs.Event{Seq: n, At: at(time.Duration(n)), Type: runs.EventHostOK, Host: fmt.Sprint("h", n),
			Stdout: strings.Repeat("x", int(n%200))})
	}
	for i := range out {
		out[i].At = out[i].At.Truncate(time.Microsecond)
	}
	return out
}

func eventMembers(t *testing.T, e *env) {
	a := e.running(t)
	want := runs.Event{
		Seq: a.NextSeq, At: at(time.Microsecond), Type: runs.EventHostFailed, Play: "p", Task: "t <&> \u2028", TaskID: "id",
		Host: "h", Item: "i",
		Changed: true, Ignored: true, DurationMS: 12, Message: "line\nline\x00", Stdout: "out", Stderr: "err", RC: ptr(0),
		Diff: raw(`{"a":"<b>&"}`), Stats: raw(`{"h":{"ok":1}}`), Facts: raw(`{"n":9007199254740993.0}`),
		Outputs: raw(`[1,"\u0000"]`), Truncated: true,
	}
	if next, err := e.events(t, a.Lease, want); err != nil || next != a.NextSeq+1 {
		t.Fatalf("next is %d, %v", next, err)
	}
	if d := diff([]runs.Event{want}, e.all(t, a.Run.ID, a.NextSeq-1, 10)); d != "" {
		t.Errorf("the event:\n%s", d)
	}
	if got := e.get(t, a.Run.ID); got.EventCount != a.NextSeq || got.Revision != a.Run.Revision {
		t.Errorf("%d events at revision %d", got.EventCount, got.Revision)
	}
}

func eventPages(t *testing.T, e *env) {
	a := e.running(t)
	last := depthtest.Of[int64](121, 301)
	want := append(e.all(t, a.Run.ID, 0, 10), series(2, last)...)
	for n := int64(2); n <= last; {
		to := min(n+n%17, last)
		if _, err := e.events(t, a.Lease, series(n, to)...); err != nil {
			t.Fatal(err)
		}
		n = to + 1
	}
	for _, limit := range []int{1, 7, 100, 1000} {
		var got []runs.Event
		for after := int64(0); ; {
			page := e.all(t, a.Run.ID, after, limit)
			if len(page) == 0 {
				break
			}
			if len(page) > limit {
				t.Fatalf("%d events for a limit of %d", len(page), limit)
			}
			got, after = append(got, page...), page[len(page)-1].Seq
		}
		if d := diff(want, got); d != "" {
			t.Errorf("in pages of %d:\n%s", limit, d)
		}
	}
	if got := e.all(t, a.Run.ID, 0, 0); len(got) != 0 {
		t.Errorf("a limit of zero gives %d", len(got))
	}
}

func eventAgain(t *testing.T, e *env) {
	a := e.running(t)
	for _, c := range []struct{ from, to, next int64 }{{2, 5, 6}, {2, 5, 6}, {3, 4, 6}, {4, 8, 9}, {2, 9, 10},
		{1, 3, 10}} {
		next, err := e.events(t, a.Lease, series(c.from, c.to)...)
		if err != nil || next != c.next {
			t.Errorf("%d to %d: next %d, %v", c.from, c.to, next, err)
		}
	}
	if d := diff(series(2, 9), e.all(t, a.Run.ID, 1, 100)); d != "" {
		t.Errorf("events:\n%s", d)
	}
}

func eventGap(t *testing.T, e *env) {
	a := e.running(t)
	for _, batch := range [][]runs.Event{series(3, 4), {series(2, 2)[0], series(4, 4)[0]},
		{series(3, 3)[0], series(2, 2)[0]}, {series(2, 2)[0], series(2, 2)[0]}} {
		_, err := e.events(t, a.Lease, batch...)
		wantFault(t, err, runs.SequenceGap)
	}
	if got := e.all(t, a.Run.ID, 1, 10); len(got) != 0 {
		t.Errorf("a refused batch left %v", got)
	}
}

func eventAsk(t *testing.T, e *env) {
	a := e.running(t)
	if next, err := e.events(t, a.Lease); err != nil || next != 2 {
		t.Errorf("next is %d, %v", next, err)
	}
}

func eventStatusBetween(t *testing.T, e *env) {
	a := e.running(t)
	if _, err := e.events(t, a.Lease, series(2, 3)...); err != nil {
		t.Fatal(err)
	}
	e.finish(t, a, runs.Failed, at(time.Hour))
	got := e.all(t, a.Run.ID, 0, 10)
	if len(got) != 4 || got[3].Type != runs.EventStatus || got[3].Seq != 4 || got[3].To != runs.Failed {
		t.Errorf("events are %+v", got)
	}
}

func eventLarge(t *testing.T, e *env) {
	a := e.running(t)
	want := series(2, 3001)
	if next, err := e.events(t, a.Lease, want...); err != nil || next != 3002 {
		t.Fatalf("next is %d, %v", next, err)
	}
	if d := diff(want, e.all(t, a.Run.ID, 1, 5000)); d != "" {
		t.Errorf("events:\n%.2000s", d)
	}
	if d := diff(want[2990:], e.all(t, a.Run.ID, 2991, 5000)); d != "" {
		t.Errorf("the last events:\n%s", d)
	}
}

func eventUnknown(t *testing.T, e *env) {
	_, err := e.Events.Events(t.Context(), "run_none", 0, 10)
	wantFault(t, err, runs.RunNotFound)
}
