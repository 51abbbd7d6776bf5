package simulate_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/writ-automation/writ/modules/policy/internal/simulate"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// past is a store of equal runs that has as many as it is asked for.
type past struct {
	row   runs.Run
	pages int
	alone int
	fails error
}

func (p *past) List(_ context.Context, f runs.Filter) (*runs.List, error) {
	if p.fails != nil {
		return nil, p.fails
	}
	p.pages++
	list := make([]*runs.Run, f.Limit)
	for i := range list {
		r := p.row
		r.ID = strconv.Itoa(i)
		list[i] = &r
	}
	return &runs.List{Runs: list, NextCursor: "more"}, nil
}

func (p *past) ByID(_ context.Context, id string) (*runs.Run, error) {
	p.alone++
	if p.alone == 1 {
		return nil, runs.RunNotFound.New("no run %q", id)
	}
	r := p.row
	r.ID, r.Graph = id, &runs.Graph{Steps: []runs.StepState{{StepSpec: runs.StepSpec{Tool: "bash"}}}}
	return &r, nil
}

// TestSimulationIsBounded stops after so many runs, and earlier where each is read by itself.
func TestSimulationIsBounded(t *testing.T) {
	t.Parallel()
	draft := policy.Policy{Effect: policy.Deny, Match: policy.Match{Tools: []string{"bash"}}}
	rows := &past{row: runs.Run{Kind: runs.Single, Spec: runs.Spec{Tool: "bash"}}}
	got, err := simulate.Past{Runs: rows}.Simulate(t.Context(), draft, start, start)
	if err != nil || got.Scanned != policy.MaxSimulated || got.Denied != policy.MaxSimulated || !got.Truncated ||
		rows.alone != 0 || rows.pages != policy.MaxSimulated/1000+1 {
		t.Errorf("%d, %d, %t, %v, %+v", got.Scanned, got.Denied, got.Truncated, err, rows)
	}
	pipelines := &past{row: runs.Run{Kind: runs.Pipeline}}
	got, err = simulate.Past{Runs: pipelines}.Simulate(t.Context(), draft, start, start)
	if err != nil || got.Denied != policy.MaxSimulatedAlone-1 || !got.Truncated ||
		pipelines.alone != policy.MaxSimulatedAlone {
		t.Errorf("%d, %t, %v", got.Denied, got.Truncated, err)
	}
}

type noTeams struct{ identity.TeamStore }

func (noTeams) TeamsOf(context.Context, string) ([]identity.Team, error) {
	return nil, errors.New("no teams")
}

// TestSimulationFails returns what a store reports.
func TestSimulationFails(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	for _, p := range []simulate.Past{
		{Runs: &past{fails: gone}},
		{Runs: &past{row: runs.Run{Kind: runs.Single, Actor: ended("", "usr_1", "", 1).Run.Actor}}, Teams: noTeams{}},
	} {
		draft := policy.Policy{Effect: policy.Deny, Actors: []string{"team:tem_1"}}
		if got, err := p.Simulate(t.Context(), draft, start, start); err == nil || got.Scanned > 0 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestLimitsOfThePast reads the hosts to which a run is limited that was made from another one.
func TestLimitsOfThePast(t *testing.T) {
	t.Parallel()
	rows := &once{rows: []*runs.Run{
		{ID: "plain", Kind: runs.Single}, {ID: "limited", Kind: runs.Single},
		{ID: "again", Kind: runs.Single, Origin: runs.Origin{RetryOf: "plain"}},
	}}
	rows.rows[1].Spec.Limit = "web"
	draft := policy.Policy{Effect: policy.Deny, Match: policy.Match{LimitMissing: true}}
	got, err := simulate.Past{Runs: rows}.Simulate(t.Context(), draft, start, start)
	if err != nil || !slices.Equal(got.Sample, []string{"plain"}) || got.Scanned != 3 || got.Truncated {
		t.Errorf("%+v, %v", got, err)
	}
}

// once has one page, whose runs are limited to a host when they are read by themselves.
type once struct{ rows []*runs.Run }

func (o *once) List(context.Context, runs.Filter) (*runs.List, error) {
	return &runs.List{Runs: o.rows}, nil
}

func (o *once) ByID(_ context.Context, id string) (*runs.Run, error) {
	return &runs.Run{ID: id, Kind: runs.Single, Spec: runs.Spec{LimitHosts: []string{"web1"}}}, nil
}
