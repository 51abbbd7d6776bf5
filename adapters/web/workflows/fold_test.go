package workflows

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

// lanes is a pipeline of a start, 40 lanes of two steps of which one failed, and a chain after all lanes.
func lanes() *runs.Run {
	steps := []runs.StepState{state("start", runs.Succeeded)}
	var tests []string
	for i := range 40 {
		build, test, ended := fmt.Sprint("build-", i), fmt.Sprint("test-", i), runs.Succeeded
		if i == 7 {
			ended = runs.Failed
		}
		steps = append(steps, state(build, runs.Succeeded, "start"), state(test, ended, build))
		tests = append(tests, test)
	}
	steps = append(steps, state("join", runs.Skipped, tests...))
	for i, last := 0, "join"; i < 5; i++ {
		name := fmt.Sprint("after-", i)
		steps = append(steps, state(name, runs.Skipped, last))
		last = name
	}
	return pipeline(steps...)
}

// boxes returns how many steps each box has, with its first.
func boxes(v stepsView) string {
	var out []string
	for _, n := range v.Nodes {
		out = append(out, fmt.Sprint(n.first().Spec.Name, "*", len(n.Steps)))
	}
	return strings.Join(out, " ")
}

func TestEqualStepsFold(t *testing.T) {
	t.Parallel()
	v := viewOf(lanes(), nil, time.Unix(0, 0))
	v.place()
	leadsRight(t, v)
	if got := boxes(v); got != "start*1 build-0*39 build-7*1 test-0*39 test-7*1 join*6" {
		t.Error(got)
	}
	var heavy int
	for _, e := range v.edges() {
		if e.Longest {
			heavy++
		}
	}
	if heavy != 3 {
		t.Errorf("%d edges of the longest path are heavy", heavy)
	}
}

func TestNamedStepUnfoldsItsBox(t *testing.T) {
	t.Parallel()
	v := viewOf(lanes(), nil, time.Unix(0, 0))
	v.Open = []string{"test-3", "after-2", "no such step"}
	v.place()
	leadsRight(t, v)
	// 39 tests and 6 steps of the chain have boxes of their own
	if got := boxes(v); len(v.Nodes) != 49 || !strings.HasPrefix(got, "start*1 build-0*39 build-7*1 test-0*1 ") {
		t.Error(got)
	}
	v = viewOf(lanes(), nil, time.Unix(0, 0))
	v.Whole = true
	if v.place(); len(v.Nodes) != 87 {
		t.Errorf("%d boxes without folding", len(v.Nodes))
	}
	small := lanes()
	small.Graph.Steps = small.Graph.Steps[:foldFrom]
	v = viewOf(small, nil, time.Unix(0, 0))
	if v.place(); len(v.Nodes) != foldFrom {
		t.Errorf("%d boxes of %d steps", len(v.Nodes), foldFrom)
	}
}

// TestFoldedPage links a box to the graph with its steps, keeps those that are unfolded, and lists all steps.
func TestFoldedPage(t *testing.T) {
	t.Parallel()
	v := viewOf(lanes(), nil, time.Unix(0, 0))
	v.Graph, v.Open = true, []string{"after-0"}
	v.place()
	var b strings.Builder
	if err := stepsPage(v).Render(shell.WithViewer(t.Context(), shell.Viewer{}, time.Unix(0, 0)), &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`href="?open=after-0&amp;open=test-0&amp;view=graph#box-2"`, "<summary><span class=\"b\">39 steps</span>",
		"Succeeded: build-0, build-1, ", `id="step-86"`, foldText,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// TestFoldOfManySteps folds long chains and wide fans, and steps of which no two are alike.
func TestFoldOfManySteps(t *testing.T) {
	t.Parallel()
	var chain, fan, tree []runs.StepState
	for i := range 2000 {
		name := fmt.Sprint("s", i)
		chain = append(chain, state(name, runs.Pending, fmt.Sprint("s", i-1)))
		fan = append(fan, state(name, runs.Pending, "s0"))
		tree = append(tree, state(name, runs.Pending, fmt.Sprint("s", i/2), fmt.Sprint("s", i-7)))
	}
	for name, steps := range map[string][]runs.StepState{"chain": chain, "fan": fan, "tree": tree} {
		steps[0].DependsOn = nil
		v := viewOf(pipeline(steps...), nil, time.Unix(0, 0))
		v.place()
		sum := 0
		for _, n := range v.Nodes {
			sum += len(n.Steps)
		}
		if sum != len(steps) || name == "chain" && len(v.Nodes) != 1 || name == "fan" && len(v.Nodes) != 2 {
			t.Errorf("%s: %d boxes with %d steps", name, len(v.Nodes), sum)
		}
	}
}
