package compose

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// fakeRights has objects, of which the caller may read some, runs that name objects, and records.
type fakeRights struct {
	all      bool
	readable []string
	runs     map[string][]string
	records  []string
	err      error
}

func (s *fakeRights) May(_ context.Context, want access.Level, objects ...string) (bool, error) {
	hidden := func(id string) bool { return !slices.Contains(s.readable, id) }
	return want == access.Read && !slices.ContainsFunc(objects, hidden), s.err
}

func (s *fakeRights) Scope(context.Context) (access.Scope, error) {
	return access.Scope{All: s.all}, s.err
}

func (s *fakeRights) get(id string) error {
	if s.err == nil && !slices.Contains(s.records, id) {
		return fault.Missing("record", id)
	}
	return s.err
}

// kinds are the ports of the kinds of records.
type (
	fakeRuns struct {
		runs.ObjectStore
		*fakeRights
	}
	fakeSources struct {
		catalog.Sources
		*fakeRights
	}
	fakeSchedules struct {
		scheduling.Schedules
		*fakeRights
	}
	fakeTriggers struct {
		scheduling.Triggers
		*fakeRights
	}
)

func (s fakeRuns) Objects(_ context.Context, id string) ([]string, error) {
	list, ok := s.runs[id]
	if !ok && s.err == nil {
		return nil, runs.RunNotFound.New("no run %q", id)
	}
	return list, s.err
}

func (s fakeSources) Get(_ context.Context, id string) (catalog.InventorySource, error) {
	return catalog.InventorySource{}, s.get(id)
}

func (s fakeSchedules) Get(_ context.Context, id string) (scheduling.Schedule, error) {
	return scheduling.Schedule{}, s.get(id)
}

func (s fakeTriggers) Get(_ context.Context, id string) (scheduling.Trigger, error) {
	return scheduling.Trigger{}, s.get(id)
}

func (s *fakeRights) audience() *audience {
	return &audience{Guard: s, Runs: fakeRuns{fakeRights: s}, Sources: fakeSources{fakeRights: s},
		Schedules: fakeSchedules{fakeRights: s}, Triggers: fakeTriggers{fakeRights: s}}
}

// TestTrailAudience has a caller who may read the objects and records whose name ends with 1.
func TestTrailAudience(t *testing.T) {
	t.Parallel()
	s := &fakeRights{readable: []string{"tpl_1", "prj_1", "inv_1", "crd_1", "queue:q1"},
		runs:    map[string][]string{"run_1": {"queue:q1", "tpl_1"}, "run_2": {"queue:q1", "tpl_2"}},
		records: []string{"src_1", "sch_1", "trg_1"}}
	for _, c := range []struct {
		object, run string
		sees        bool
	}{
		{"template/tpl_1", "", true}, {"template/tpl_2", "", false}, {"project/prj_2", "", false},
		{"inventory/inv_2", "", false}, {"credential/crd_1", "", true}, {"credential/crd_2", "", false},
		{"run/run_1", "", true}, {"run/run_1", "run_1", true}, {"run/run_2", "run_2", false}, {"run/run_2", "", false},
		{"run/run_deleted", "", false}, {"run/run_deleted", "run_deleted", false},
		{"run/run_child", "run_1", true}, {"run/run_child", "run_2", false},
		{"template/tpl_1", "run_2", false}, {"template/tpl_2", "run_1", false}, {"", "run_1", true}, {"", "run_2", false},
		{"inventory_source/src_1", "", true}, {"inventory_source/src_2", "", false},
		{"schedule/sch_1", "", true}, {"schedule/sch_2", "", false},
		{"trigger/trg_1", "", true}, {"trigger/trg_2", "", false}, {"", "", true}, {"user/usr_2", "", true},
		{"team/team_2", "", true}, {"grant/grt_2", "", true}, {"epoch/2", "", true},
		{"install/in_1", "", true}, {"odd", "", true},
	} {
		if sees, err := s.audience().Sees(t.Context(), c.object, c.run); sees != c.sees || err != nil {
			t.Errorf("%q of %q: %v, %v", c.object, c.run, sees, err)
		}
	}
	everything, broken := &fakeRights{all: true}, &fakeRights{err: errors.New("no rights are known")}
	for _, object := range []string{"template/tpl_2", "run/run_2", "schedule/sch_2"} {
		if sees, err := everything.audience().Sees(t.Context(), object, ""); !sees || err != nil {
			t.Errorf("who may read everything and %s: %v, %v", object, sees, err)
		}
		if sees, err := broken.audience().Sees(t.Context(), object, ""); sees || !errors.Is(err, broken.err) {
			t.Errorf("without a decision about %s: %v, %v", object, sees, err)
		}
	}
}
