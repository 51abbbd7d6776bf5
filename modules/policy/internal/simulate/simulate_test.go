package simulate_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/policy/internal/simulate"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

var start = time.Unix(1, 0)

// ended is a run of a user that touched hosts.
func ended(id, user, template string, hosts int) simulate.Record {
	return simulate.Record{Run: &runs.Run{
		ID: id, Kind: runs.Single, Status: runs.Succeeded, StartedAt: start, HostsTouched: hosts,
		Actor: actor.Actor{Type: actor.User, ID: user}, Spec: runs.Spec{Tool: "ansible", TemplateID: template},
	}}
}

func scan(p policy.Policy, list ...simulate.Record) policy.Simulation {
	return simulate.Simulate(p, slices.Values(list))
}

// TestReport counts by actor and template what a draft would hold or deny.
func TestReport(t *testing.T) {
	t.Parallel()
	ten := 10
	draft := policy.Policy{Effect: policy.RequireApproval, Match: policy.Match{HostsOver: &ten}}
	system := ended("run_4", "", "tpl_2", 30)
	system.Run.Actor = actor.Actor{Type: actor.System}
	shard := ended("run_5", "usr_1", "tpl_1", 99)
	shard.Run.Kind = runs.Shard
	list := []simulate.Record{ended("run_1", "usr_1", "tpl_1", 11), ended("run_2", "usr_1", "tpl_1", 10),
		ended("run_3", "usr_1", "", 12), system, shard}
	want := policy.Simulation{
		Scanned: 4, Matched: 3, Held: 3, ByActor: map[string]int{"usr_1": 2, "system": 1},
		ByTemplate: map[string]int{"tpl_1": 1, "tpl_2": 1}, Sample: []string{"run_1", "run_3", "run_4"},
	}
	if d := cmp.Diff(want, scan(draft, list...)); d != "" {
		t.Error(d)
	}
	draft.Effect, want.Held, want.Denied = policy.Deny, 0, 3
	if d := cmp.Diff(want, scan(draft, list...)); d != "" {
		t.Error(d)
	}
	none := policy.Simulation{ByActor: map[string]int{}, ByTemplate: map[string]int{}}
	if d := cmp.Diff(none, scan(draft)); d != "" {
		t.Error(d)
	}
}

// TestOwnersOfThePast takes the owner of a schedule as who asked for its runs, and counts them by the schedule.
func TestOwnersOfThePast(t *testing.T) {
	t.Parallel()
	rec := ended("run_1", "sch_1", "", 1)
	rec.Run.Actor.Type, rec.Run.Origin.Owner = actor.System, "usr_1"
	got := scan(policy.Policy{Effect: policy.Deny, Actors: []string{"user:usr_1"}}, rec, ended("run_2", "usr_2", "", 1))
	if got.Denied != 1 || got.ByActor["sch_1"] != 1 {
		t.Errorf("%+v", got)
	}
}

// TestSampleIsBounded keeps the first 20.
func TestSampleIsBounded(t *testing.T) {
	t.Parallel()
	var list []simulate.Record
	for i := range 50 {
		list = append(list, ended(fmt.Sprint(i), "usr_1", "", 1))
	}
	got := scan(policy.Policy{Effect: policy.Deny}, list...)
	if got.Matched != 50 || len(got.Sample) != 20 || got.Sample[19] != "19" {
		t.Errorf("%+v", got)
	}
}

// TestHostsOfThePast takes what a run touched, or the counts where they are more, and nothing where it is not known.
func TestHostsOfThePast(t *testing.T) {
	t.Parallel()
	five := 5
	draft := policy.Policy{Effect: policy.Deny, Match: policy.Match{HostsOver: &five}}
	counted, unstarted, running := ended("a", "u", "", 1), ended("b", "u", "", 0), ended("c", "u", "", 1)
	counted.Run.Hosts = runs.HostCounts{"ok": 3, "unreachable": 3}
	unstarted.Run.StartedAt, unstarted.Run.Status = time.Time{}, runs.Rejected
	running.Run.Status = runs.Running
	script := ended("d", "u", "", 50)
	script.Run.Spec.Tool = "bash"
	pipeline := ended("e", "u", "", 6)
	pipeline.Run.Kind, pipeline.Run.Graph = runs.Pipeline, &runs.Graph{Steps: []runs.StepState{
		{StepSpec: runs.StepSpec{Tool: "bash"}}, {StepSpec: runs.StepSpec{Playbook: "x.yml"}}}}
	small := ended("f", "u", "", 5)
	got := scan(draft, counted, unstarted, running, script, pipeline, small)
	if d := cmp.Diff([]string{"a", "b", "c", "e"}, got.Sample); d != "" {
		t.Error(d)
	}
}

// TestRiskOfThePast takes the stored level, and grades a run without one, and the steps of a pipeline.
func TestRiskOfThePast(t *testing.T) {
	t.Parallel()
	draft := policy.Policy{Effect: policy.Deny, RiskAtLeast: runs.HighRisk}
	stored, low, graded, pipeline := ended("a", "u", "", 1), ended("b", "u", "", 1), ended("c", "u", "", 1),
		ended("d", "u", "", 1)
	stored.Run.Risk.Level, low.Run.Risk.Level, pipeline.Run.Risk.Level = runs.HighRisk, runs.LowRisk, runs.CriticalRisk
	low.Run.Labels, graded.Run.Labels = map[string]string{"env": "prod"}, map[string]string{"env": "prod"}
	pipeline.Run.Graph = &runs.Graph{Steps: []runs.StepState{{StepSpec: runs.StepSpec{Tool: "bash"}}}}
	got := scan(draft, stored, low, graded, pipeline)
	if d := cmp.Diff([]string{"a", "c"}, got.Sample); d != "" {
		t.Error(d)
	}
}

// TestTeamsOfThePast compares the teams that a record comes with.
func TestTeamsOfThePast(t *testing.T) {
	t.Parallel()
	draft := policy.Policy{Effect: policy.Deny, Actors: []string{"team:tem_1"}}
	member := ended("a", "usr_1", "", 1)
	member.Teams = []string{"tem_1"}
	if got := scan(draft, member, ended("b", "usr_2", "", 1)); !slices.Equal(got.Sample, []string{"a"}) {
		t.Errorf("%v", got.Sample)
	}
}
