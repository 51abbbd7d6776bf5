package insight

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/runs"
)

// mirror is a matrix that a reader builds from deltas only.
type mirror struct {
	rev   int64
	tasks []string
	names []string
	cells map[[2]string]byte // by task and host
}

func (m *mirror) apply(t interface{ Fatalf(string, ...any) }, d *runs.MatrixDelta) {
	if d.Since == 0 {
		*m = mirror{cells: map[[2]string]byte{}}
	}
	if d.Reload || d.Since != m.rev || d.TasksFrom != len(m.tasks) || d.NamesFrom != len(m.names) {
		t.Fatalf("the delta %+v does not follow revision %d with %d tasks and %d names", d, m.rev, len(m.tasks), len(m.names))
	}
	for _, x := range d.Tasks {
		m.tasks = append(m.tasks, x.ID)
	}
	m.names = append(m.names, d.Names...)
	place := 0
	for raw := d.Cells; len(raw) > 0; {
		n, k := binary.Uvarint(raw[1:])
		for range n {
			if raw[0] != byte(runs.CellSame) {
				m.cells[[2]string{m.tasks[place/d.Hosts], m.names[place%d.Hosts]}] = raw[0]
			}
			place++
		}
		raw = raw[1+k:]
	}
	m.rev = d.Rev
}

// flat returns the cells column by column.
func (m *mirror) flat() []byte {
	out := []byte{}
	for _, x := range m.tasks {
		for _, h := range m.names {
			out = append(out, m.cells[[2]string{x, h}])
		}
	}
	return out
}

func TestDeltasMakeTheMatrix(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := &stored{}
		x := r.insight()
		m := &mirror{cells: map[[2]string]byte{}}
		kinds := []runs.EventType{runs.EventHostOK, runs.EventHostFailed, runs.EventItemOK, runs.EventTaskStarted,
			runs.EventStats, runs.EventStatus}
		for range rapid.IntRange(1, 20).Draw(rt, "rounds") {
			for range rapid.IntRange(0, 6).Draw(rt, "events") {
				e := host(rapid.SampledFrom(kinds).Draw(rt, "kind"), fmt.Sprint(rapid.IntRange(0, 3).Draw(rt, "task")),
					fmt.Sprint(rapid.IntRange(0, 5).Draw(rt, "host")))
				e.Stats = []byte(`{"1":{"rescued":1}}`)
				r.add(e)
			}
			d, err := x.Delta(context.Background(), &runs.Run{ID: "run"}, m.rev, 0, int64(len(r.events)))
			if err != nil {
				rt.Fatal(err)
			}
			if d != nil {
				m.apply(rt, d)
			}
		}
		whole, err := x.Matrix(context.Background(), "run", runs.MatrixQuery{})
		if err != nil {
			rt.Fatal(err)
		}
		want := []byte{}
		for raw := whole.Cells; len(raw) > 0; {
			n, k := binary.Uvarint(raw[1:])
			for range n {
				want = append(want, raw[0])
			}
			raw = raw[1+k:]
		}
		if diff := cmp.Diff(want, m.flat()); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestDeltaOfALostPastIsReloaded(t *testing.T) {
	t.Parallel()
	b := largeRun()
	if d := b.delta(1); d == nil || !d.Reload || d.Rev != b.rev || d.Cells != nil || d.Names != nil {
		t.Errorf("%+v", d)
	}
	if d := b.delta(b.rev - 10); d == nil || d.Reload || len(d.Cells) == 0 || len(d.Cells) > 100 {
		t.Errorf("of the last ten events: %+v", d)
	}
	if d := b.delta(b.rev); d != nil {
		t.Errorf("of nothing: %+v", d)
	}
	if len(b.past.changes) > maxChanges {
		t.Errorf("%d changes are remembered", len(b.past.changes))
	}
}

// family is a parent with its children, in memory.
type family struct {
	runs.Store
	runs.EventStore
	runs.LogStore
	parent   runs.Run
	children []*runs.Run
	events   map[string][]runs.Event
}

func (f *family) ByID(context.Context, string) (*runs.Run, error) { return &f.parent, nil }

func (f *family) Children(context.Context, string) ([]*runs.Run, error) {
	for _, k := range f.children {
		k.EventCount = int64(len(f.events[k.ID]))
	}
	return f.children, nil
}

func (f *family) Events(_ context.Context, id string, after int64, limit int) ([]runs.Event, error) {
	rest := f.events[id][after:]
	return rest[:min(limit, len(rest))], nil
}

func (f *family) add(id string, e runs.Event) {
	e.Seq = int64(len(f.events[id]) + 1)
	f.events[id] = append(f.events[id], e)
}

func of(run string, t runs.EventType, task, name string) runs.Event {
	return runs.Event{Type: t, Task: task, TaskID: run + task, Host: name, Message: "no"}
}

func TestMatrixOfASplitIsThatOfItsShards(t *testing.T) {
	t.Parallel()
	f := &family{events: map[string][]runs.Event{}, parent: runs.Run{ID: "p", Kind: runs.Split},
		children: []*runs.Run{{ID: "a"}, {ID: "b"}}}
	for _, k := range f.children {
		f.add(k.ID, of(k.ID, runs.EventTaskStarted, "one", ""))
		f.add(k.ID, of(k.ID, runs.EventHostOK, "one", "host-"+k.ID))
		f.add(k.ID, of(k.ID, runs.EventHostFailed, "two", "host-"+k.ID))
	}
	x := New(f, f, f, nil)
	m, err := x.Matrix(t.Context(), "p", runs.MatrixQuery{})
	if err != nil || len(m.Tasks) != 2 || m.Hosts != 2 || m.Rev != 6 {
		t.Fatalf("%+v, %v", m, err)
	}
	if diff := cmp.Diff([]byte{1, 1, 4, 4}, decode(t, m.Cells)); diff != "" {
		t.Error(diff)
	}
	groups, err := x.Failures(t.Context(), "p")
	if err != nil || len(groups) != 1 || groups[0].Count != 2 {
		t.Errorf("%+v, %v", groups, err)
	}
	f.add("b", of("b", runs.EventHostOK, "three", "host-b"))
	if m, err = x.Matrix(t.Context(), "p", runs.MatrixQuery{AfterRev: m.Rev}); err != nil || m.Same || m.Rev != 7 ||
		len(m.Tasks) != 3 {
		t.Errorf("after one more event: %+v, %v", m, err)
	}
}

// TestDeltasOfAParent builds the matrix from deltas, also after a new attempt of a step replaces the earlier one, and
// when another process sent the earlier deltas.
func TestDeltasOfAParent(t *testing.T) {
	t.Parallel()
	g := &runs.Graph{Steps: []runs.StepState{{StepSpec: runs.StepSpec{Name: "s"}}, {StepSpec: runs.StepSpec{Name: "u"}}}}
	f := &family{events: map[string][]runs.Event{}, parent: runs.Run{ID: "p", Kind: runs.Pipeline, Graph: g},
		children: []*runs.Run{{ID: "a", StepName: "s", Attempt: 1}, {ID: "c", StepName: "u", Attempt: 1}}}
	x := New(f, f, f, nil)
	m, order := &mirror{}, int64(0)
	follow := func(what string) {
		t.Helper()
		d, err := x.Delta(t.Context(), &f.parent, m.rev, order, 0)
		if err != nil {
			t.Fatal(err)
		}
		if d != nil {
			m.apply(t, d)
			order = d.Order
		}
		whole, err := x.Matrix(t.Context(), "p", runs.MatrixQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(decode(t, whole.Cells)), string(m.flat())); diff != "" || len(m.names) != whole.Hosts {
			t.Errorf("%s: %s", what, diff)
		}
	}
	follow("nothing")
	f.add("c", of("c", runs.EventHostOK, "one", "h"))
	follow("one step")
	f.add("a", of("a", runs.EventHostFailed, "one", "i"))
	follow("two steps")
	f.children = append(f.children, &runs.Run{ID: "b", StepName: "s", Attempt: 2})
	f.add("b", of("b", runs.EventHostOK, "one", "i"))
	follow("another attempt")
	x = New(f, f, f, nil)
	f.add("c", of("c", runs.EventHostOK, "two", "h"))
	follow("another process") // which reads the steps in another order
	f.add("b", of("b", runs.EventHostOK, "two", "i"))
	follow("goes on")
}

func TestMatrixOfAPipelineForgetsEarlierAttempts(t *testing.T) {
	t.Parallel()
	g := &runs.Graph{Steps: []runs.StepState{{StepSpec: runs.StepSpec{Name: "s"}}}}
	f := &family{events: map[string][]runs.Event{}, parent: runs.Run{ID: "p", Kind: runs.Pipeline, Graph: g},
		children: []*runs.Run{{ID: "a", StepName: "s", Attempt: 1}}}
	f.add("a", of("a", runs.EventHostFailed, "one", "h"))
	x := New(f, f, f, nil)
	first, err := x.Matrix(t.Context(), "p", runs.MatrixQuery{})
	if err != nil || first.Hosts != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	f.children = append(f.children, &runs.Run{ID: "b", StepName: "s", Attempt: 2})
	f.add("b", of("b", runs.EventHostOK, "one", "h"))
	m, err := x.Matrix(t.Context(), "p", runs.MatrixQuery{AfterRev: first.Rev})
	if err != nil || m.Same || m.Rev <= first.Rev {
		t.Fatalf("%+v, %v", m, err)
	}
	if diff := cmp.Diff([]byte{1}, decode(t, m.Cells)); diff != "" {
		t.Error(diff)
	}
	if groups, err := x.Failures(t.Context(), "p"); err != nil || len(groups) != 0 {
		t.Errorf("failures of the earlier attempt: %+v, %v", groups, err)
	}
}
