package submit

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

const ulid = "000000000000000000000"

func TestARunTakesTheQueueOfItsInventory(t *testing.T) {
	t.Parallel()
	s := New(&lifecycle.Machine{}, nil, nil, knows{}, nil, nil, nil, nil, nil)
	for _, c := range []struct{ inventory, queue, want string }{
		{"inv_" + ulid[:20] + "queued", "", "gpu"},
		{"inv_" + ulid[:20] + "queued", "own", "own"},
		{"inv_" + ulid[:20] + "plain0", "", ""},
		{"inv_" + ulid + "0none", "", ""},
		{"inv_queued", "", ""},
		{"", "", ""},
	} {
		queue := c.queue
		if _, err := s.inherit(t.Context(), c.inventory, &queue); err != nil || queue != c.want {
			t.Errorf("%+v: %q, %v", c, queue, err)
		}
	}
}

func TestACommitIsFixedWhenTheRunIsMade(t *testing.T) {
	t.Parallel()
	s := New(&lifecycle.Machine{}, nil, nil, knows{}, nil, nil, nil, nil, nil)
	of := &runs.Run{Spec: runs.Spec{ProjectID: "prj_1"}, Commit: "old"}
	for name, c := range map[string]struct {
		project string
		source  runs.Source
		of      *runs.Run
		commit  string
		warns   []runs.Warning
		kind    fault.Kind
	}{
		"of no project":                 {},
		"the newest":                    {project: "prj_1", commit: "1b"},
		"after a push it is asked anew": {project: "prj_1", source: runs.FromTrigger, commit: "2c"},
		"what was pushed is not there":  {project: "prj_stale", source: runs.FromTrigger, kind: fault.Conflict},
		"a rerun takes the newest":      {project: "prj_1", source: runs.FromRerun, of: of, commit: "1b"},
		"a retry takes the same":        {project: "prj_1", source: runs.FromRetry, of: of, commit: "old"},
		"a relaunch takes the same":     {project: "prj_1", source: runs.FromRelaunch, of: of, commit: "old"},
		"a retry of another project":    {project: "prj_2", source: runs.FromRetry, of: of, commit: "1b"},
		"the last good one, and says so": {project: "prj_stale", commit: "0a",
			warns: []runs.Warning{{Code: runs.WarnProjectStale, Message: "nobody answers"}}},
		"nothing can be had": {project: "prj_lost", kind: fault.Conflict},
	} {
		r := &runs.Run{Origin: runs.Origin{Source: c.source}}
		err := s.pin(t.Context(), r, c.project, c.of)
		if (err != nil) != (c.kind != 0) || err != nil && !fault.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
		if r.Commit != c.commit || !cmp.Equal(r.Warnings, c.warns) {
			t.Errorf("%s: %q, %v", name, r.Commit, r.Warnings)
		}
	}
}

// TestStepsOfOtherProjectsArePinned pins each project once, and a push only that of the pipeline.
func TestStepsOfOtherProjectsArePinned(t *testing.T) {
	t.Parallel()
	s := New(&lifecycle.Machine{}, nil, nil, knows{}, nil, nil, nil, nil, nil)
	step := func(project string) runs.StepState {
		return runs.StepState{StepSpec: runs.StepSpec{ProjectID: project}}
	}
	r := &runs.Run{Origin: runs.Origin{Source: runs.FromTrigger}, Commit: "2c", Spec: runs.Spec{ProjectID: "prj_1"},
		Graph: &runs.Graph{Steps: []runs.StepState{step(""), step("prj_1"), step("prj_2"), step("prj_stale"),
			step("prj_stale")}}}
	if err := s.pinSteps(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range r.Graph.Steps {
		got = append(got, r.Graph.Steps[i].Commit)
	}
	if diff := cmp.Diff([]string{"", "", "1b", "0a", "0a"}, got); diff != "" || len(r.Warnings) != 1 {
		t.Errorf("%s, warnings %v", diff, r.Warnings)
	}
}
