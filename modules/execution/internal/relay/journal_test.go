package relay_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

func facts(hosts ...string) (out []runs.HostFacts) {
	for _, h := range hosts {
		out = append(out, runs.HostFacts{Host: h, GatheredAt: now(), Facts: []byte(`{"os":"Debian"}`)})
	}
	return out
}

func (w *fixture) storedFacts() (n int) {
	w.t.Helper()
	w.must(w.d.Read(w.t.Context()).QueryRowContext(w.t.Context(), "SELECT count(*) FROM run_facts").Scan(&n))
	return n
}

// TestFactsOfUnreportedHosts checks that the whole call is refused: a host needs a result in this run, by an event or
// a summary.
// Keeps T02.
func TestFactsOfUnreportedHosts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		ctx := t.Context()
		other, otherBy := w.begun()
		_, err := w.relay.AppendEvents(ctx, otherBy,
			[]runs.Event{{Seq: other.Run.NextSeq, Type: runs.EventHostOK, Host: "theirs"}})
		w.must(err)
		g, h := w.begun()
		n := g.Run.NextSeq
		tell := func(typ runs.EventType, host string) {
			t.Helper()
			_, err := w.relay.AppendEvents(ctx, h, []runs.Event{{Seq: n, Type: typ, Host: host}})
			w.must(err)
			n++
		}
		tell(runs.EventFacts, "facts alone")
		tell(runs.EventTaskStarted, "a task's")
		tell(runs.EventOutputs, "outputs")
		for _, host := range []string{"never", "theirs", "facts alone", "a task's", "outputs"} {
			err := w.relay.SaveFacts(ctx, h, facts(host))
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Fields[0].Location != "facts[0].host" {
				t.Errorf("%s: %v", host, err)
			}
		}
		tell(runs.EventHostOK, "a")
		tell(runs.EventItemFailed, "b")
		tell(runs.EventHostUnreachable, "c")
		if err := w.relay.SaveFacts(ctx, h, facts("a", "never")); !fault.Is(err, fault.Invalid) || w.storedFacts() != 0 {
			t.Errorf("with a stranger: %v, %d stored", err, w.storedFacts())
		}
		large := facts("a")
		for size, refused := range map[int]bool{runs.MaxFacts: false, runs.MaxFacts + 1: true} {
			large[0].Facts = []byte(`{"k":"` + strings.Repeat("x", size-len(`{"k":""}`)) + `"}`)
			if err := w.relay.SaveFacts(ctx, h, large); fault.Is(err, fault.Invalid) != refused || !refused && err != nil {
				t.Errorf("facts of %d bytes: %v", size, err)
			}
		}
		w.must(w.relay.SaveFacts(ctx, h, facts("a", "b", "c")))
		w.must(w.plane.SaveHosts(ctx, runs.Lease{RunID: h.RunID, Worker: "relay/w", Epoch: 1},
			[]runs.HostSummary{{Host: "d", Worst: runs.HostOK}}))
		w.must(w.relay.SaveFacts(ctx, h, facts("d"))) // told by another server, or before a restart of this one
		w.must(w.relay.SaveHosts(ctx, h, []runs.HostSummary{{Host: "e", Worst: runs.HostOK}}))
		w.must(w.relay.SaveFacts(ctx, h, facts("e")))
		tell(runs.EventHostOK, "f")
		w.must(w.relay.SaveFacts(ctx, h, facts("f")))
		if n := w.storedFacts(); n != 7 {
			t.Errorf("%d facts are stored", n)
		}
	})
}

// TestFactsFromTheFuture checks that such facts get their time of arrival: otherwise no newer facts would ever apply.
func TestFactsFromTheFuture(t *testing.T) {
	t.Parallel()
	w := one(t)
	_, h := w.begun()
	w.must(w.relay.SaveHosts(t.Context(), h, []runs.HostSummary{{Host: "a", Worst: runs.HostOK}}))
	f := facts("a")
	f[0].GatheredAt = now().Add(1000 * time.Hour)
	w.must(w.relay.SaveFacts(t.Context(), h, f))
	var at string
	w.must(w.d.Read(t.Context()).QueryRowContext(t.Context(), "SELECT gathered_at FROM run_facts").Scan(&at))
	if !strings.HasPrefix(at, now().Format("2006-01")) && !strings.HasPrefix(at, now().Add(-time.Hour).Format("2006-01")) {
		t.Errorf("gathered at %s", at)
	}
}

// TestReportedAgain checks that repeated reports, reordered or partial, are stored once, and that a gap is refused.
// Keeps T04.
func TestReportedAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		ctx := t.Context()
		g, h := w.begun()
		n := g.Run.NextSeq
		e := func(k int64) runs.Event {
			return runs.Event{Seq: n + k, Type: runs.EventHostOK, Host: fmt.Sprint("h", k)}
		}
		for _, c := range []struct {
			list []runs.Event
			next int64
		}{
			{[]runs.Event{e(0), e(1)}, n + 2}, {[]runs.Event{e(0), e(1)}, n + 2}, {[]runs.Event{e(1), e(2)}, n + 3},
			{[]runs.Event{e(0)}, n + 3}, {nil, n + 3},
		} {
			next, err := w.relay.AppendEvents(ctx, h, c.list)
			if err != nil || next != c.next {
				t.Errorf("after %v the next is %d, %v", c.list, next, err)
			}
		}
		for _, list := range [][]runs.Event{{e(5)}, {e(4), e(3)}, {e(3), e(3)}} {
			if _, err := w.relay.AppendEvents(ctx, h, list); !runs.SequenceGap.Is(err) {
				t.Errorf("%v: %v", list, err)
			}
		}
		if got := w.events(h.RunID); len(got) != 4 || got[3].Host != "h2" { // one is of the claim
			t.Errorf("stored are %+v", got)
		}
		for _, c := range []struct {
			off  int64
			data string
			next int64
		}{{0, "one\n", 4}, {0, "one\n", 4}, {2, "e\ntwo\n", 8}, {0, "FORGED", 8}, {0, "", 8}} {
			next, err := w.relay.AppendLog(ctx, h, runs.LogChunk{Offset: c.off, Data: []byte(c.data)})
			if err != nil || next != c.next {
				t.Errorf("after %q at %d the next is %d, %v", c.data, c.off, next, err)
			}
		}
		for range 2 {
			w.must(w.relay.SaveHosts(ctx, h, []runs.HostSummary{{Host: "a", OK: 1, Worst: runs.HostOK},
				{Host: "a", OK: 2, Worst: runs.HostOK}}))
			w.must(w.relay.SaveTasks(ctx, h, []runs.TaskSummary{{Task: "t"}}))
			f := facts("a")
			f[0].GatheredAt = time.Date(2026, 1, 5, 8, 30, 0, 0, time.UTC)
			w.must(w.relay.SaveFacts(ctx, h, f))
		}
		hosts, err := w.plane.store.Hosts(ctx, h.RunID)
		w.must(err)
		tasks, err := w.plane.store.Tasks(ctx, h.RunID)
		w.must(err)
		if string(w.output(h.RunID)) != "one\ntwo\n" || len(hosts) != 1 || hosts[0].OK != 2 || len(tasks) != 1 ||
			w.storedFacts() != 1 {
			t.Errorf("stored are %q, %v, %v, %d facts", w.output(h.RunID), hosts, tasks, w.storedFacts())
		}
	})
}

// refusals are invalid reports, by the member that the error has to name.
func refusals(w *fixture) []struct {
	field string
	call  func(ctx context.Context, h execution.Leaseholder) error
} {
	type call = func(ctx context.Context, h execution.Leaseholder) error
	event := func(e runs.Event) call {
		return func(ctx context.Context, h execution.Leaseholder) error {
			_, err := w.relay.AppendEvents(ctx, h, []runs.Event{e})
			return err
		}
	}
	chunk := func(c runs.LogChunk) call {
		return func(ctx context.Context, h execution.Leaseholder) error {
			_, err := w.relay.AppendLog(ctx, h, c)
			return err
		}
	}
	hosts := func(s ...runs.HostSummary) call {
		return func(ctx context.Context, h execution.Leaseholder) error { return w.relay.SaveHosts(ctx, h, s) }
	}
	tasks := func(s ...runs.TaskSummary) call {
		return func(ctx context.Context, h execution.Leaseholder) error { return w.relay.SaveTasks(ctx, h, s) }
	}
	fact := func(f ...runs.HostFacts) call {
		return func(ctx context.Context, h execution.Leaseholder) error { return w.relay.SaveFacts(ctx, h, f) }
	}
	many := execution.RelayList + 1
	ok := runs.HostOK
	return []struct {
		field string
		call  call
	}{
		{"offset", chunk(runs.LogChunk{Offset: -1})},
		{"offset", chunk(runs.LogChunk{Offset: math.MaxInt64})},
		{"data", chunk(runs.LogChunk{Data: make([]byte, 4<<20+1)})},
		{"events", func(ctx context.Context, h execution.Leaseholder) error {
			_, err := w.relay.AppendEvents(ctx, h, make([]runs.Event, many))
			return err
		}},
		{"events[0].type", event(runs.Event{Seq: 3, Type: runs.EventStatus})},
		{"events[0].type", event(runs.Event{Seq: 3, Type: "x"})},
		{"events[0]", event(runs.Event{Seq: 3, Type: runs.EventWarning, From: runs.Running, To: runs.Succeeded})},
		{"events[0].seq", event(runs.Event{Type: runs.EventWarning})},
		{"events[0]", event(runs.Event{Seq: 3, Type: runs.EventHostOK, Resource: strings.Repeat("r", 64<<10+1)})},
		{"events[0].notified", event(runs.Event{Seq: 3, Type: runs.EventHostOK, Notified: make([]string, 65)})},
		{"events[0].seq", event(runs.Event{Seq: -1, Type: runs.EventWarning})},
		{"hosts", hosts(make([]runs.HostSummary, many)...)},
		{"hosts[0].host", hosts(runs.HostSummary{Worst: ok})},
		{"hosts[1].host", hosts(runs.HostSummary{Host: "a", Worst: ok}, runs.HostSummary{Host: "a\nb", Worst: ok})},
		{"hosts[0].host", hosts(runs.HostSummary{Host: "a\x00", Worst: ok})},
		{"hosts[0].host", hosts(runs.HostSummary{Host: strings.Repeat("a", 256), Worst: ok})},
		{"hosts[0].worst", hosts(runs.HostSummary{Host: "a", Worst: "fine"})},
		{"hosts[0]", hosts(runs.HostSummary{Host: "a", Worst: ok, OK: -1})},
		{"hosts[0]", hosts(runs.HostSummary{Host: "a", Worst: ok, Rescued: math.MaxInt32 + 1})},
		{"hosts[0].duration_ms", hosts(runs.HostSummary{Host: "a", Worst: ok, Duration: -1})},
		{"tasks", tasks(make([]runs.TaskSummary, many)...)},
		{"tasks[0].index", tasks(runs.TaskSummary{Index: -1})},
		{"tasks[0].index", tasks(runs.TaskSummary{Index: 100_000})},
		{"tasks[0].play", tasks(runs.TaskSummary{Play: strings.Repeat("p", 64<<10+1)})},
		{"tasks[0]", tasks(runs.TaskSummary{Hosts: -1})},
		{"tasks[0].duration_ms", tasks(runs.TaskSummary{Max: -1})},
		{"facts", fact(make([]runs.HostFacts, many)...)},
		{"facts[0].host", fact(runs.HostFacts{GatheredAt: now(), Facts: []byte("{}")})},
		{"facts[0].gathered_at", fact(runs.HostFacts{Host: "a", Facts: []byte("{}")})},
		{"facts[0].facts", fact(runs.HostFacts{Host: "a", GatheredAt: now(), Facts: []byte("[1]")})},
		{"facts[0].facts", fact(runs.HostFacts{Host: "a", GatheredAt: now(), Facts: []byte("null")})},
		{"facts[0].facts", fact(runs.HostFacts{Host: "a", GatheredAt: now(), Facts: []byte(`{"a":`)})},
		{"facts[0].facts", fact(runs.HostFacts{Host: "a", GatheredAt: now(),
			Facts: []byte(`{"a":"` + strings.Repeat("x", 2<<20) + `"}`)})},
	}
}

// TestReportsThatAreNone checks that the error names the member, and that nothing is stored.
// Keeps T04.
func TestReportsThatAreNone(t *testing.T) {
	t.Parallel()
	w := one(t)
	_, h := w.begun()
	before := w.picture()
	for _, c := range refusals(w) {
		err := c.call(t.Context(), h)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Fields[0].Location != c.field {
			t.Errorf("%s: %v", c.field, err)
		}
	}
	if after := w.picture(); after != before {
		t.Errorf("something is stored:\n%s\nwas\n%s", after, before)
	}
}

// TestCapsOnEvents: those beyond what is kept of a run are TooLarge.
// Keeps T04.
func TestCapsOnEvents(t *testing.T) {
	t.Parallel()
	w := one(t)
	g, h := w.begun()
	ctx := t.Context()
	n := g.Run.NextSeq
	for n < 10_100 {
		list := make([]runs.Event, 0, execution.RelayList)
		for len(list) < cap(list) && n+int64(len(list)) <= 10_100 {
			list = append(list, runs.Event{Seq: n + int64(len(list)), Type: runs.EventWarning})
		}
		next, err := w.relay.AppendEvents(ctx, h, list)
		w.must(err)
		n = next
	}
	if _, err := w.relay.AppendEvents(ctx, h, []runs.Event{{Seq: n, Type: runs.EventWarning}}); !fault.Is(err,
		fault.TooLarge) {
		t.Errorf("event %d: %v", n, err)
	}
}

// TestCapsOnHosts checks that the relay stores as many hosts of a run as its executor does, in any number of calls.
// Keeps T04.
func TestCapsOnHosts(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *still) {
		h := execution.Leaseholder{RunID: "run_1"}
		hosts := make([]runs.HostSummary, 0, 200_001)
		for i := range cap(hosts) {
			hosts = append(hosts, runs.HostSummary{Host: fmt.Sprint("h", i), Worst: runs.HostOK})
		}
		save := func(from, to int) error { return s.relay.SaveHosts(t.Context(), h, hosts[from:to]) }
		s.away = errors.New("not stored")
		if err := save(200_000, 200_001); !errors.Is(err, s.away) {
			t.Errorf("%v", err)
		}
		s.away = nil
		for from := 0; from < 200_000; from += execution.RelayList {
			if err := save(from, from+execution.RelayList); err != nil {
				t.Fatal(err)
			}
		}
		if err := save(0, 10); err != nil {
			t.Errorf("known ones: %v", err)
		}
		if err := save(200_000, 200_001); !fault.Is(err, fault.TooLarge) {
			t.Errorf("one more: %v", err)
		}
	})
}
