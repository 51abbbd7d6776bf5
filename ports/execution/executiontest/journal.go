package executiontest

import (
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/runs"
)

func logPieces(t *testing.T, f Fixture) {
	a := begun(t, f)
	for _, p := range []struct {
		off  int64
		data string
		next int64
	}{{0, "", 0}, {0, "one", 3}, {0, "one", 3}, {1, "ne two", 7}, {0, "", 7}, {10, "three", 15}} {
		next, err := f.Plane.AppendLog(t.Context(), a.Lease, runs.LogChunk{Offset: p.off, Data: []byte(p.data)})
		must(t, err)
		if next != p.next {
			t.Fatalf("after %q at %d the next offset is %d, not %d", p.data, p.off, next, p.next)
		}
	}
	got := strings.ReplaceAll(string(f.Log(t, a.Lease.RunID)), "\x00", "")
	if r := f.Run(t, a.Lease.RunID); got != "one twothree" || r.LogOmitted != 3 {
		t.Fatalf("the log is %q, %d bytes are omitted", got, r.LogOmitted)
	}
}

func eventNumbers(t *testing.T, f Fixture) {
	a := begun(t, f)
	n := a.NextSeq
	event := func(seq int64) runs.Event { return runs.Event{Seq: seq, Type: runs.EventWarning, Message: "m"} }
	for _, p := range []struct {
		list []runs.Event
		next int64
	}{{nil, n}, {[]runs.Event{event(n), event(n + 1)}, n + 2}, {[]runs.Event{event(n + 1), event(n + 2)}, n + 3},
		{nil, n + 3}} {
		next, err := f.Plane.AppendEvents(t.Context(), a.Lease, p.list)
		must(t, err)
		if next != p.next {
			t.Fatalf("the next number is %d, not %d", next, p.next)
		}
	}
	if _, err := f.Plane.AppendEvents(t.Context(), a.Lease, []runs.Event{event(n + 5)}); !runs.SequenceGap.Is(err) {
		t.Fatalf("a gap gives %v", err)
	}
	if got := f.Events(t, a.Lease.RunID); len(got) != 3 || got[2].Seq != n+2 {
		t.Fatalf("the events are %+v", got)
	}
}
