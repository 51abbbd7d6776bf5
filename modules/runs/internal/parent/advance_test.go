package parent

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/runs"
)

// fixture runs a pipeline without a store: starts become children, whose end the test decides.
type fixture struct {
	graph    *runs.Graph
	children []*runs.Run
	canceled bool
	last     Plan
}

func newFixture(t interface{ Fatal(...any) }, steps ...runs.StepSpec) *fixture {
	g, err := NewGraph(steps, runs.Vars{"base": []byte("1")})
	if err != nil {
		t.Fatal(err)
	}
	w := &fixture{graph: g}
	w.advance()
	return w
}

func (w *fixture) advance() {
	p := Advance(w.graph, w.children, w.canceled)
	for _, s := range p.Starts {
		st := &p.Graph.Steps[s.Step]
		r := &runs.Run{ID: fmt.Sprintf("%s#%d", st.Name, s.Attempt), StepName: st.Name, Attempt: s.Attempt,
			Status: runs.Pending, Vars: s.Vars}
		w.children = append(w.children, r)
		st.Status, st.RunID, st.Attempt = r.Status, r.ID, r.Attempt
	}
	w.graph, w.last = p.Graph, p
}

func (w *fixture) open() []*runs.Run {
	var out []*runs.Run
	for _, c := range w.children {
		if !c.Status.Terminal() {
			out = append(out, c)
		}
	}
	return out
}

func (w *fixture) end(id string, s runs.Status, outputs runs.Vars) {
	for _, c := range w.children {
		if c.ID == id {
			c.Status, c.Outputs = s, outputs
		}
	}
	w.advance()
}

func (w *fixture) states() map[string]runs.Status {
	out := map[string]runs.Status{}
	for _, s := range w.graph.Steps {
		out[s.Name] = s.Status
	}
	return out
}

// TestARejectedStepCountsAsFailed skips what depends on it, unless it has continue_on_failure. It is not retried.
func TestARejectedStepCountsAsFailed(t *testing.T) {
	t.Parallel()
	hard, soft := step("hard"), step("soft")
	hard.Retries, soft.ContinueOnFailure = 3, true
	w := newFixture(t, hard, soft, step("never", "hard"), step("after", "soft"))
	w.end("hard#1", runs.Rejected, nil)
	w.end("soft#1", runs.Rejected, nil)
	w.end("after#1", runs.Succeeded, nil)
	want := map[string]runs.Status{"hard": runs.Rejected, "soft": runs.Rejected, "never": runs.Skipped,
		"after": runs.Succeeded}
	if d := cmp.Diff(want, w.states()); d != "" {
		t.Error(d)
	}
	if !w.last.Done || w.last.Status != runs.Canceled || w.last.Error != `step "hard" rejected` {
		t.Errorf("%+v", w.last)
	}
	w = newFixture(t, soft)
	w.end("soft#1", runs.Rejected, nil)
	if w.last.Status != runs.Succeeded || len(w.last.Warnings) != 1 ||
		w.last.Warnings[0].Message != `step "soft" was rejected and the pipeline continued` {
		t.Errorf("%+v", w.last)
	}
}

func TestAdvanceRunsStepsInOrder(t *testing.T) {
	t.Parallel()
	w := newFixture(t, step("a"), step("b"))
	if len(w.open()) != 1 || w.open()[0].ID != "a#1" {
		t.Fatalf("open at first: %v", w.states())
	}
	w.end("a#1", runs.Succeeded, runs.Vars{"x": []byte(`2`)})
	b := w.open()[0]
	if diff := cmp.Diff(runs.Vars{"base": []byte("1"), "x": []byte("2")}, b.Vars); diff != "" {
		t.Error(diff)
	}
	w.end("b#1", runs.Succeeded, nil)
	if !w.last.Done || w.last.Status != runs.Succeeded || w.last.Error != "" {
		t.Errorf("ended as %+v", w.last)
	}
}

func TestAdvanceSkipsDependentsOfAFailedStep(t *testing.T) {
	t.Parallel()
	w := newFixture(t, step("a"), step("b", "a"), step("c", "b"), step("d"))
	w.end("a#1", runs.Failed, nil)
	if w.last.Done {
		t.Fatal("done while d runs")
	}
	w.end("d#1", runs.Succeeded, nil)
	want := map[string]runs.Status{"a": runs.Failed, "b": runs.Skipped, "c": runs.Skipped, "d": runs.Succeeded}
	if diff := cmp.Diff(want, w.states()); diff != "" {
		t.Error(diff)
	}
	if w.last.Status != runs.Failed || w.last.Error != `step "a" failed` {
		t.Errorf("ended as %s: %s", w.last.Status, w.last.Error)
	}
}

func TestAdvanceContinuesOnFailure(t *testing.T) {
	t.Parallel()
	a := step("a")
	a.ContinueOnFailure = true
	w := newFixture(t, a, step("b"))
	w.end("a#1", runs.Failed, nil)
	if len(w.last.Warnings) != 1 || w.last.Warnings[0].Code != runs.WarnStepFailedContinued {
		t.Errorf("warnings %v", w.last.Warnings)
	}
	w.advance()
	if len(w.last.Warnings) != 0 || w.last.Changed {
		t.Error("asking again told the warning again, or changed something")
	}
	w.end("b#1", runs.Succeeded, nil)
	if w.last.Status != runs.Succeeded {
		t.Errorf("ended as %s", w.last.Status)
	}
}

func TestAdvanceRetriesFailedStepsAndNoInterruptedOnes(t *testing.T) {
	t.Parallel()
	a := step("a")
	a.Retries = 1
	w := newFixture(t, a)
	w.end("a#1", runs.Failed, nil)
	w.end("a#2", runs.Failed, nil)
	if !w.last.Done || w.last.Status != runs.Failed || len(w.children) != 2 {
		t.Errorf("%d attempts, ended as %s", len(w.children), w.last.Status)
	}
	w = newFixture(t, a)
	w.end("a#1", runs.Interrupted, nil)
	if !w.last.Done || w.last.Status != runs.Interrupted || len(w.children) != 1 {
		t.Errorf("%d attempts, ended as %s", len(w.children), w.last.Status)
	}
}

func TestAdvanceCanceled(t *testing.T) {
	t.Parallel()
	w := newFixture(t, step("a"), step("b"))
	w.canceled = true
	w.end("a#1", runs.Succeeded, nil)
	if !w.last.Done || w.last.Status != runs.Canceled || w.states()["b"] != runs.Skipped {
		t.Errorf("ended as %s with %v", w.last.Status, w.states())
	}
}

// TestAdvanceAlwaysEnds drives random graphs with random outcomes: every pipeline ends, no step starts before its
// dependencies allow it, no step starts more often than its retries allow, and the end follows from the steps.
func TestAdvanceAlwaysEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "steps")
		var specs []runs.StepSpec
		for i := range n {
			s := runs.StepSpec{Name: fmt.Sprint(i), Retries: rapid.IntRange(0, 2).Draw(t, "retries"),
				ContinueOnFailure: rapid.Bool().Draw(t, "continue")}
			s.On = rapid.SampledFrom([]string{"", runs.OnSuccess, runs.OnFailure, runs.OnAlways}).Draw(t, "on")
			for j := range i {
				if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
					s.DependsOn = append(s.DependsOn, fmt.Sprint(j))
				}
			}
			if len(s.DependsOn) == 0 && s.On == runs.OnFailure {
				s.On = ""
			}
			specs = append(specs, s)
		}
		w := newFixture(t, rapid.Permutation(specs).Draw(t, "order")...)
		for range 3*n + 1 {
			if w.last.Done {
				break
			}
			w.canceled = w.canceled || rapid.IntRange(0, 9).Draw(t, "cancel") == 0
			open := w.open()
			if len(open) == 0 {
				t.Fatalf("stuck: %v", w.states())
			}
			end := rapid.SampledFrom([]runs.Status{runs.Succeeded, runs.Succeeded, runs.Failed, runs.Interrupted,
				runs.Canceled}).Draw(t, "end")
			w.end(rapid.SampledFrom(open).Draw(t, "which").ID, end, nil)
			checkStarts(t, w)
		}
		if !w.last.Done || len(w.open()) > 0 {
			t.Fatalf("did not end: %v", w.states())
		}
		if again := Advance(w.graph, w.children, w.canceled); again.Changed || again.Status != w.last.Status {
			t.Fatal("asking again changes something")
		}
	})
}

func checkStarts(t *rapid.T, w *fixture) {
	for _, s := range w.last.Starts {
		st := w.graph.Steps[s.Step]
		if w.canceled {
			t.Fatalf("%s started after the cancel", st.Name)
		}
		if s.Attempt > st.Retries+1 {
			t.Fatalf("%s started %d times", st.Name, s.Attempt)
		}
		failed := false
		for _, d := range st.DependsOn {
			x := w.graph.Step(d)
			succeeded := x.Status == runs.Succeeded || x.Status == runs.Failed && x.ContinueOnFailure
			ended := x.Status.Terminal() || x.Status == runs.Skipped
			failed = failed || x.Status == runs.Failed || x.Status == runs.Interrupted
			if !ended || (st.On == "" || st.On == runs.OnSuccess) && !succeeded {
				t.Fatalf("%s started while %s is %q", st.Name, d, x.Status)
			}
		}
		if st.On == runs.OnFailure && !failed {
			t.Fatalf("%s started though nothing failed", st.Name)
		}
	}
}

// TestOnWhichEndsAStepStarts ends the dependencies a and b of three steps, each with its own On.
func TestOnWhichEndsAStepStarts(t *testing.T) {
	t.Parallel()
	const started, skipped = runs.Pending, runs.Skipped
	for _, c := range []struct {
		a, b                       runs.Status
		soft                       bool
		success, failure, whatever runs.Status
		end                        runs.Status
	}{
		{runs.Succeeded, runs.Succeeded, false, started, skipped, started, runs.Succeeded},
		{runs.Succeeded, runs.Failed, false, skipped, started, started, runs.Failed},
		{runs.Succeeded, runs.Failed, true, started, started, started, runs.Succeeded},
		{runs.Succeeded, runs.Rejected, false, skipped, started, started, runs.Canceled},
		{runs.Succeeded, runs.Interrupted, false, skipped, started, started, runs.Interrupted},
		{runs.Succeeded, runs.Canceled, false, skipped, skipped, started, runs.Canceled},
	} {
		b := step("b")
		b.ContinueOnFailure = c.soft
		w := newFixture(t, step("a"), b, on(runs.OnSuccess), on(runs.OnFailure), on(runs.OnAlways))
		w.end("b#1", c.b, nil)
		if n := len(w.last.Starts); n > 0 {
			t.Errorf("%+v: %d steps start before all ended", c, n)
		}
		w.end("a#1", c.a, nil)
		want := map[string]runs.Status{"a": c.a, "b": c.b, "success": c.success, "failure": c.failure, "always": c.whatever}
		if diff := cmp.Diff(want, w.states()); diff != "" {
			t.Errorf("%+v: %s", c, diff)
		}
		for _, x := range w.open() {
			w.end(x.ID, runs.Succeeded, nil)
		}
		if !w.last.Done || w.last.Status != c.end {
			t.Errorf("%+v: ended as %s", c, w.last.Status)
		}
	}
	w := newFixture(t, step("a"), on(runs.OnFailure, "a"), runs.StepSpec{Name: "s", DependsOn: []string{"failure"}},
		runs.StepSpec{Name: "f", On: runs.OnFailure, DependsOn: []string{"failure"}},
		runs.StepSpec{Name: "l", On: runs.OnAlways, DependsOn: []string{"failure"}})
	w.end("a#1", runs.Succeeded, nil)
	want := map[string]runs.Status{"a": runs.Succeeded, "failure": skipped, "s": skipped, "f": skipped, "l": started}
	if diff := cmp.Diff(want, w.states()); diff != "" {
		t.Errorf("after a skipped step: %s", diff)
	}
	if _, err := NewGraph([]runs.StepSpec{on(runs.OnFailure), step("b")}, nil); !runs.BadGraph.Is(err) {
		t.Errorf("a first step that waits for a failure: %v", err)
	}
}

// on returns a step that is named by its On.
func on(what string, deps ...string) runs.StepSpec {
	s := step(what, append(deps, "a", "b")...)
	if len(deps) > 0 {
		s.DependsOn = deps
	}
	s.On = what
	return s
}

// TestWhatReachesTheStepOfATemplate lets outputs reach it, and variables of the pipeline if the template is open. None
// of them replaces a variable of the template, answers its survey or is reserved.
func TestWhatReachesTheStepOfATemplate(t *testing.T) {
	t.Parallel()
	one, two := json.RawMessage("1"), json.RawMessage("2")
	for _, open := range []bool{false, true} {
		x := runs.StepSpec{Name: "b", TemplateID: "tpl_1", ExtraVars: runs.Vars{"own": one}, Templated: []string{"own"},
			Preset: &runs.Preset{Open: open, Closed: []string{"asked"}}}
		g, err := NewGraph([]runs.StepSpec{{Name: "a"}, x},
			runs.Vars{"base": two, "own": two, "Asked": two, "ansible_connection": two})
		if err != nil {
			t.Fatal(err)
		}
		g.Templated = []string{"base"}
		done := &runs.Run{ID: "1", StepName: "a", Attempt: 1, Status: runs.Succeeded,
			Outputs: runs.Vars{"out": two, "asked": two, "own": two}}
		got := Advance(Advance(g, nil, false).Graph, []*runs.Run{done}, false).Starts[0]
		want, templated := runs.Vars{"own": one, "out": two}, []string{"own"}
		if open {
			want["base"], templated = two, []string{"base", "own"}
		}
		if diff := cmp.Diff(want, got.Vars); diff != "" {
			t.Errorf("open %t: %s", open, diff)
		}
		if diff := cmp.Diff(templated, got.Templated); diff != "" {
			t.Errorf("open %t: %s", open, diff)
		}
	}
}

// TestWhatMayBeTemplated separates saved variables from data. A step's own variable that overrides a saved one is data,
// unless the step's own was saved too.
func TestWhatMayBeTemplated(t *testing.T) {
	t.Parallel()
	one := json.RawMessage(`1`)
	g, err := NewGraph([]runs.StepSpec{
		{Name: "a"},
		{Name: "b", ExtraVars: runs.Vars{"saved": one, "own": one, "data": one}, Templated: []string{"own", "absent"}},
	}, runs.Vars{"saved": one, "kept": one, "brought": one})
	if err != nil {
		t.Fatal(err)
	}
	g.Templated = []string{"kept", "saved"}
	first := Advance(g, nil, false)
	if diff := cmp.Diff([]string{"kept", "saved"}, first.Starts[0].Templated); diff != "" {
		t.Error(diff)
	}
	done := &runs.Run{ID: "1", StepName: "a", Attempt: 1, Status: runs.Succeeded, Outputs: runs.Vars{"out": one}}
	second := Advance(first.Graph, []*runs.Run{done}, false)
	if diff := cmp.Diff([]string{"kept", "own"}, second.Starts[0].Templated); diff != "" {
		t.Error(diff)
	}
}

// TestOutputsReplaceNothing: an output adds variables, and replaces those of steps before, but none that the author of
// the pipeline set, whatever case it is written in.
func TestOutputsReplaceNothing(t *testing.T) {
	t.Parallel()
	author, output := json.RawMessage(`"author"`), json.RawMessage(`"output"`)
	g, err := NewGraph([]runs.StepSpec{
		{Name: "a"}, {Name: "b"}, {Name: "c", ExtraVars: runs.Vars{"own": author, "both": author}},
	}, runs.Vars{"base": author, "both": json.RawMessage(`"base"`), "target-host": author})
	if err != nil {
		t.Fatal(err)
	}
	g.Templated = []string{"base"}
	outputs := runs.Vars{"new": output, "base": output, "own": output, "both": output, "BASE": output, "Own": output,
		"target_host": output, "ansible_connection": output}
	var done []*runs.Run
	var last Plan
	for i, name := range []string{"a", "b"} {
		done = append(done, &runs.Run{ID: name, StepName: name, Attempt: 1, Status: runs.Succeeded,
			Outputs: outputs.Merge(runs.Vars{"from": json.RawMessage(strconv.Itoa(i))})})
		last = Advance(g, done, false)
		g = last.Graph
	}
	want := runs.Vars{"base": author, "own": author, "both": author, "target-host": author, "new": output,
		"from": json.RawMessage("1")}
	if diff := cmp.Diff(want, last.Starts[0].Vars); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"base"}, last.Starts[0].Templated); diff != "" {
		t.Error(diff)
	}
}
