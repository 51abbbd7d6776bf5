package insight

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// stored is one run in memory, with the parts of the stores that questions read.
type stored struct {
	runs.Store
	runs.EventStore
	runs.LogStore
	run    runs.Run
	events []runs.Event
	log    []runs.LogChunk
	reads  int
}

func (r *stored) ByID(_ context.Context, id string) (*runs.Run, error) {
	out := r.run
	out.ID = id
	out.EventCount = int64(len(r.events))
	for _, c := range r.log {
		out.LogBytes = c.Offset + int64(len(c.Data))
	}
	return &out, nil
}

func (r *stored) Events(_ context.Context, _ string, after int64, limit int) ([]runs.Event, error) {
	r.reads++
	rest := r.events[after:]
	return rest[:min(limit, len(rest))], nil
}

func (r *stored) ReadLog(_ context.Context, _ string, _, _ int64, yield func(runs.LogChunk) error) error {
	for _, c := range r.log {
		if err := yield(c); err != nil {
			return err
		}
	}
	return nil
}

func (r *stored) add(e runs.Event) {
	e.Seq = int64(len(r.events) + 1)
	r.events = append(r.events, e)
}

func (r *stored) insight() *Insight { return New(r, r, r, nil) }

func host(t runs.EventType, task, name string) runs.Event {
	return runs.Event{Type: t, TaskID: task, Task: "task " + task, Host: name}
}

func decode(t *testing.T, cells []byte) []byte {
	t.Helper()
	var out []byte
	for len(cells) > 0 {
		n, k := binary.Uvarint(cells[1:])
		if k <= 0 {
			t.Fatal("cells are cut short")
		}
		out = append(out, []byte(strings.Repeat(string(rune(cells[0])), int(n)))...)
		cells = cells[1+k:]
	}
	return out
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	r := &stored{}
	r.add(runs.Event{Type: runs.EventStatus})
	r.add(runs.Event{Type: runs.EventTaskStarted, TaskID: "1", Task: "task 1", Play: "p"})
	changed := host(runs.EventHostOK, "1", "a")
	changed.Changed = true
	r.add(changed)
	r.add(host(runs.EventHostFailed, "1", "b"))
	ignored := host(runs.EventHostFailed, "1", "c")
	ignored.Ignored = true
	r.add(ignored)
	r.add(runs.Event{Type: runs.EventTaskStarted, TaskID: "2", Task: "task 2"})
	r.add(host(runs.EventHostUnreachable, "2", "c"))
	r.add(host(runs.EventItemOK, "2", "b"))
	x := r.insight()
	m, err := x.Matrix(t.Context(), "run", runs.MatrixQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]byte{2, 4, 7, 0, 8, 5}, decode(t, m.Cells)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, m.Names); diff != "" {
		t.Error(diff)
	}
	r.add(runs.Event{Type: runs.EventStats, Stats: json.RawMessage(`{"b":{"rescued":1},"c":{"failed":1,"rescued":1}}`)})
	m, err = x.Matrix(t.Context(), "run", runs.MatrixQuery{From: 1, Count: 1, AfterRev: 8})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]byte{6, 8}, decode(t, m.Cells)); diff != "" {
		t.Error(diff)
	}
	m, err = x.Matrix(t.Context(), "run", runs.MatrixQuery{AfterRev: m.Rev})
	if err != nil || !m.Same || m.Cells != nil || m.Hosts != 3 {
		t.Errorf("unchanged: %+v, %v", m, err)
	}
}

func TestRunLengthRoundTrips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		b := newBuilder()
		hosts, tasks := rapid.IntRange(1, 12).Draw(rt, "hosts"), rapid.IntRange(1, 5).Draw(rt, "tasks")
		want := make([]byte, hosts*tasks)
		var seq int64
		for h := range hosts { // the first task names every host
			seq++
			e := host(runs.EventHostOK, "0", fmt.Sprint(h))
			e.Seq = seq
			b.take(b.feed("", ""), []runs.Event{e})
			want[h] = byte(runs.CellOK)
		}
		for range rapid.IntRange(0, 40).Draw(rt, "events") {
			h, k := rapid.IntRange(0, hosts-1).Draw(rt, "h"), rapid.IntRange(0, tasks-1).Draw(rt, "k")
			for len(b.tasks) <= k {
				seq++
				b.take(b.feed("", ""), []runs.Event{{Seq: seq, Type: runs.EventTaskStarted, TaskID: fmt.Sprint(len(b.tasks))}})
			}
			seq++
			e := host(runs.EventHostSkipped, fmt.Sprint(k), fmt.Sprint(h))
			e.Seq = seq
			b.take(b.feed("", ""), []runs.Event{e})
			want[k*hosts+h] = byte(runs.CellSkipped)
		}
		want = want[:len(b.tasks)*hosts]
		if diff := cmp.Diff(want, decode(t, b.matrix(runs.MatrixQuery{}).Cells)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestObserveSparesTheStore(t *testing.T) {
	t.Parallel()
	r := &stored{}
	r.add(runs.Event{Type: runs.EventStatus})
	r.add(runs.Event{Type: runs.EventPlayStarted, Play: "p"})
	r.add(host(runs.EventHostOK, "1", "a"))
	x := r.insight()
	x.Observe("run", r.events[1:])
	m, err := x.Matrix(t.Context(), "run", runs.MatrixQuery{})
	if err != nil || m.Hosts != 1 || r.reads != 1 { // of what precedes the observed ones
		t.Errorf("%+v, %v after %d reads", m, err, r.reads)
	}
	x.Observe("run", []runs.Event{{Seq: 9, Type: runs.EventHostOK, Host: "z"}}) // a gap: left to the store
	r.add(host(runs.EventHostOK, "1", "b"))
	if m, err = x.Matrix(t.Context(), "run", runs.MatrixQuery{}); err != nil || m.Hosts != 2 || r.reads != 2 {
		t.Errorf("%+v, %v after %d reads", m, err, r.reads)
	}
}

// TestObserveAfterARestart observes a run whose first results another process observed: none is missing.
func TestObserveAfterARestart(t *testing.T) {
	t.Parallel()
	r := &stored{}
	r.add(runs.Event{Type: runs.EventStatus})
	r.add(runs.Event{Type: runs.EventTaskStarted, TaskID: "1", Task: "task 1"})
	r.add(host(runs.EventHostOK, "1", "a"))
	r.add(runs.Event{Type: runs.EventTaskStarted, TaskID: "2", Task: "task 2"})
	r.add(host(runs.EventHostOK, "2", "b"))
	x := r.insight()
	x.Observe("run", r.events[3:])
	d, err := x.Delta(t.Context(), &runs.Run{ID: "run"}, 3, 0, 5)
	if err != nil || d == nil || d.Reload || d.NamesFrom != 1 || d.TasksFrom != 1 || d.Rev != 5 {
		t.Errorf("delta %+v, %v", d, err)
	}
	m, err := x.Matrix(t.Context(), "run", runs.MatrixQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, m.Names); diff != "" || len(m.Tasks) != 2 || m.Rev != 5 {
		t.Errorf("%+v\n%s", m, diff)
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache()
	first := c.get("0")
	for i := range maxBuilders + 5 {
		c.get(fmt.Sprint(i))
		c.get("0")
	}
	if c.order.Len() != maxBuilders || len(c.byRun) != maxBuilders || c.peek("0") != first || c.peek("1") != nil {
		t.Errorf("%d builders kept, %d known", c.order.Len(), len(c.byRun))
	}
}

func TestMatrixOfALargeRunIsSmall(t *testing.T) {
	t.Parallel()
	b := largeRun()
	m := b.matrix(runs.MatrixQuery{})
	size := len(m.Cells) * 4 / 3
	for _, n := range m.Names {
		size += len(n) + 3
	}
	if size > 100_000 || m.Hosts != 5000 || len(m.Tasks) != 60 {
		t.Errorf("%d bytes for %d hosts and %d tasks", size, m.Hosts, len(m.Tasks))
	}
}

func largeRun() *builder {
	b := newBuilder()
	var seq int64
	for task := range 60 {
		for h := range 5000 {
			seq++
			e := host(runs.EventHostOK, fmt.Sprint(task), fmt.Sprintf("node%04d.eu", h))
			e.Seq, e.Changed = seq, (h/40+task)%17 == 0
			b.take(b.feed("", ""), []runs.Event{e})
		}
	}
	return b
}

func BenchmarkMatrix(b *testing.B) {
	m := largeRun()
	for b.Loop() {
		m.matrix(runs.MatrixQuery{})
	}
}

func TestFailuresFold(t *testing.T) {
	t.Parallel()
	r := &stored{}
	for i := range 25 {
		e := host(runs.EventHostFailed, "1", fmt.Sprintf("web%02d", i))
		e.Message = fmt.Sprintf("web%02d: cannot open /tmp/x%d/file after %d ms", i, i, i*7)
		r.add(e)
	}
	other := host(runs.EventHostFailed, "1", "web01")
	other.Message = "no space left"
	r.add(other)
	gone := host(runs.EventHostUnreachable, "1", "web02")
	gone.Message = "no space left"
	r.add(gone)
	got, err := r.insight().Failures(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].Count != 25 || len(got[0].Hosts) != 20 ||
		got[0].Message != "web00: cannot open /tmp/x0/file after 0 ms" {
		t.Errorf("groups %+v", got)
	}
}

// TestFailuresAreKeptApart checks that failures are grouped by outcome: ignored ones, and rescued ones after the
// recap.
func TestFailuresAreKeptApart(t *testing.T) {
	t.Parallel()
	r := &stored{}
	fail := func(name string, ignored bool) {
		e := host(runs.EventHostFailed, "t", name)
		e.Message, e.Ignored = "no room on "+name, ignored
		r.add(e)
	}
	for _, name := range []string{"a", "b", "c", "a"} {
		fail(name, false)
	}
	fail("d", true)
	x := r.insight()
	group := func(o runs.Outcome, n int, hosts ...string) runs.FailureGroup {
		return runs.FailureGroup{Task: "task t", Message: "no room on " + hosts[0], Outcome: o, Count: n, Hosts: hosts}
	}
	check := func(want ...runs.FailureGroup) {
		t.Helper()
		got, err := x.Failures(t.Context(), "run_1")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	check(group(runs.HostFailed, 4, "a", "b", "c"), group(runs.HostIgnored, 1, "d"))
	r.add(runs.Event{Type: runs.EventStats,
		Stats: json.RawMessage(`{"a":{"rescued":2},"b":{"rescued":1,"failed":1},"c":{"failed":1},"d":{"ignored":1}}`)})
	check(group(runs.HostFailed, 2, "b", "c"), group(runs.HostRescued, 2, "a"), group(runs.HostIgnored, 1, "d"))
	fail("a", false)
	check(group(runs.HostFailed, 3, "a", "b", "c"), group(runs.HostRescued, 2, "a"), group(runs.HostIgnored, 1, "d"))
}

func TestAlike(t *testing.T) {
	t.Parallel()
	for _, c := range [][4]string{
		{"c: return code 3", "c", "d: return code 4", "d"},
		{"cannot reach db (mongodb)", "db", "cannot reach web (mongodb)", "web"},
		{"web1.eu, web1.eu!", "web1.eu", "x, x!", "x"},
	} {
		if a, b := normalizeMessage(c[0], c[1]), normalizeMessage(c[2], c[3]); a != b {
			t.Errorf("%q and %q", a, b)
		}
	}
	if normalizeMessage("disk full", "a") == normalizeMessage("disk gone", "a") {
		t.Error("two causes are one")
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	r := &stored{log: []runs.LogChunk{
		{Offset: 0, Data: []byte("one\nTwo is ")}, {Offset: 11, Data: []byte("here\r\nthree\n")},
		{Offset: 100, Data: []byte("two again")},
	}}
	x := r.insight()
	for _, c := range []struct {
		name string
		q    runs.LogQuery
		want runs.LogHits
	}{
		{"any case", runs.LogQuery{Text: "two"},
			runs.LogHits{Total: 2, Hits: []runs.LogHit{{Line: 2, Offset: 4, Text: "Two is here"},
				{Line: 4, Offset: 100, Text: "two again"}}}},
		{"own case", runs.LogQuery{Text: "Two", Case: true},
			runs.LogHits{Total: 1, Hits: []runs.LogHit{{Line: 2, Offset: 4, Text: "Two is here"}}}},
		{"regex", runs.LogQuery{Text: "^t.r", Regex: true},
			runs.LogHits{Total: 1, Hits: []runs.LogHit{{Line: 3, Offset: 17, Text: "three"}}}},
		{"limit", runs.LogQuery{Text: "t", Limit: 1},
			runs.LogHits{Total: 3, Hits: []runs.LogHit{{Line: 2, Offset: 4, Text: "Two is here"}}}},
		{"quoted", runs.LogQuery{Text: "t.o"}, runs.LogHits{}},
	} {
		got, err := x.Find(t.Context(), "run", c.q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	for _, q := range []runs.LogQuery{{}, {Text: "(", Regex: true}, {Text: strings.Repeat("x", 1001)}} {
		if _, err := x.Find(t.Context(), "run", q); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", q.Text, err)
		}
	}
}

func TestFindSplitsLongLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*maxLine) + "needle\nnext"
	r := &stored{log: []runs.LogChunk{{Data: []byte(long)}}}
	got, err := r.insight().Find(t.Context(), "run", runs.LogQuery{Text: "needle"})
	if err != nil || got.Total != 1 || got.Hits[0].Line != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestReasonOfAFailedCommand(t *testing.T) {
	t.Parallel()
	one, none := 1, 0
	for want, e := range map[string]runs.Event{
		"non-zero return code: disk full": {Message: "non-zero return code", RC: &one, Stderr: "trying\ndisk full\n"},
		"non-zero return code: on stdout": {Message: "non-zero return code", RC: &one, Stdout: "on stdout"},
		"non-zero return code":            {Message: "non-zero return code", RC: &one},
		"it said so":                      {Message: "it said so", RC: &none, Stderr: "noise"},
		"all there is":                    {Stderr: " all there is\n"},
	} {
		if got := reason(&e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
