package workflows

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

func pipeline(steps ...runs.StepState) *runs.Run {
	return &runs.Run{ID: "run_01k0a8bq3vtx5zk9w2m4n6p8rs", Kind: runs.Pipeline, Status: runs.Running, Name: "Release shop",
		Graph: &runs.Graph{Steps: steps}}
}

func state(name string, status runs.Status, after ...string) runs.StepState {
	return runs.StepState{StepSpec: runs.StepSpec{Name: name, Tool: "bash", Command: "echo " + name, DependsOn: after},
		Status: status}
}

func TestLayoutLeadsRightAndMarksTheLongestPath(t *testing.T) {
	t.Parallel()
	run := pipeline(state("lint", runs.Succeeded), state("build", runs.Succeeded), state("test", runs.Succeeded, "build"),
		state("canary", runs.Running, "lint", "test"), state("roll out", runs.Pending, "canary"),
		state("report", runs.Pending, "roll out", "lint"), state("roll back", runs.Skipped, "canary"))
	v := viewOf(run, nil, time.Unix(0, 0))
	if got := strings.Join(v.Path, " "); got != "build test canary roll out report" {
		t.Errorf("the longest path is %s", got)
	}
	v.place()
	leadsRight(t, v)
	if n := len(v.edges()); n != 7 {
		t.Errorf("%d edges", n)
	}
	if v.ended() != 4 {
		t.Errorf("%d ended", v.ended())
	}
}

// leadsRight checks that each box is right of those that it depends on, and that none is on another.
func leadsRight(t *testing.T, v stepsView) {
	t.Helper()
	seen := map[[2]int]string{}
	for _, n := range v.Nodes {
		name := n.first().Spec.Name
		for _, d := range n.After {
			if v.Nodes[d].X+boxWidth >= n.X {
				t.Errorf("%s is not right of %s", name, v.Nodes[d].first().Spec.Name)
			}
		}
		if other, ok := seen[[2]int{n.X, n.Y}]; ok {
			t.Errorf("%s is on %s", name, other)
		}
		seen[[2]int{n.X, n.Y}] = name
	}
}

func TestPageOfStepsEscapes(t *testing.T) {
	t.Parallel()
	const hostile = `"><script>alert(1)</script>`
	run := pipeline(state(hostile, runs.Failed), state("after", runs.Skipped, hostile))
	for _, graph := range []bool{true, false} {
		v := viewOf(run, nil, time.Unix(0, 0))
		v.Graph = graph
		v.place()
		var b strings.Builder
		ctx := shell.WithViewer(t.Context(), shell.Viewer{}, time.Unix(0, 0))
		if err := stepsPage(v).Render(ctx, &b); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		if strings.Contains(page, "<script") || strings.Contains(page, " style=") ||
			!strings.Contains(page, "since a step before it did not succeed") || strings.Contains(page, "<svg\n") {
			t.Error(page)
		}
	}
}

// TestLayoutOfManySteps lays out as many steps as a pipeline may have, in chains and fans.
func TestLayoutOfManySteps(t *testing.T) {
	t.Parallel()
	var steps []runs.StepState
	for i := range 2000 {
		switch {
		case i%100 == 0:
			steps = append(steps, state(fmt.Sprint("s", i), runs.Pending))
		case i%100 < 50:
			steps = append(steps, state(fmt.Sprint("s", i), runs.Pending, fmt.Sprint("s", i-1)))
		default:
			steps = append(steps, state(fmt.Sprint("s", i), runs.Pending, fmt.Sprint("s", i-i%100)))
		}
	}
	v := viewOf(pipeline(steps...), nil, time.Unix(0, 0))
	v.Whole = true
	v.place()
	if len(v.Ordered) != 2000 || len(v.Path) != 50 || len(v.edges()) != 1980 {
		t.Errorf("%d steps, %d on the path, %d edges", len(v.Ordered), len(v.Path), len(v.edges()))
	}
}

func BenchmarkLayout(b *testing.B) {
	var steps []runs.StepState
	for i := range 2000 {
		after := []string{}
		if i > 0 {
			after = append(after, fmt.Sprint("s", i/2))
		}
		if i > 10 {
			after = append(after, fmt.Sprint("s", i-7))
		}
		steps = append(steps, state(fmt.Sprint("s", i), runs.Pending, after...))
	}
	run := pipeline(steps...)
	for b.Loop() {
		v := viewOf(run, nil, time.Unix(0, 0))
		v.place()
		_ = v.edges()
	}
}
