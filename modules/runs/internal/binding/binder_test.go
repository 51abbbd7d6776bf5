package binding

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// inventories has one inventory and cannot read the limit "~odd". It notes what it was asked.
type inventories struct {
	catalog.References
	asked *[]string
	fresh bool // it is refreshed before a run
}

func (i inventories) RefreshesOnLaunch(context.Context, string) (bool, error) { return i.fresh, nil }

func (i inventories) read(id, limit string) error {
	*i.asked = append(*i.asked, id+" "+limit)
	switch {
	case id != "inv_1":
		return catalog.InventoryNotFound.New("no such inventory")
	case limit == "~odd":
		return fault.BadField("limit", "only the tool reads it")
	}
	return nil
}

func (i inventories) Targets(_ context.Context, id, limit string) (catalog.Targets, error) {
	return catalog.Targets{Hosts: 2, Of: 4}, i.read(id, limit)
}

func (i inventories) Hosts(_ context.Context, id, limit string) ([]string, error) {
	return []string{"b", "a"}, i.read(id, limit)
}

func (i inventories) Selected(_ context.Context, id, limit string) (content, hosts string, err error) {
	return "content", "hosts of " + limit, i.read(id, limit)
}

// TestOddLimits binds a run to the whole inventory if only the tool can read its limit, so that any change of its hosts
// is noticed.
func TestOddLimits(t *testing.T) {
	t.Parallel()
	var asked []string
	b := New(inventories{asked: &asked}, nil, nil)
	r := &runs.Run{Spec: runs.Spec{Tool: runs.Ansible, InventoryID: "inv_1", Controls: runs.Controls{Limit: "~odd"}}}
	parts, err := b.Bind(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	delete(parts, runs.RequestPart)
	want := runs.Parts{"inventory inv_1": "content", "hosts inv_1 ~odd": "hosts of "}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"inv_1 ~odd", "inv_1 "}, asked); diff != "" {
		t.Error(diff)
	}
	r.Spec.InventoryID = "inv_2"
	if parts, err = b.Bind(t.Context(), r); err != nil || len(parts) != 1 {
		t.Errorf("an inventory that was deleted: %v, %v", parts, err)
	}
}

// TestHostsThatAreCounted reads no inventory for a script, and the same selection once.
func TestHostsThatAreCounted(t *testing.T) {
	t.Parallel()
	two, unknown := policy.Targets{Hosts: 2, Of: 4}, policy.UnknownTargets()
	for name, c := range map[string]struct {
		run   runs.Run
		want  []policy.Targets
		asked []string
	}{
		"a script": {runs.Run{Spec: runs.Spec{Tool: "bash", InventoryID: "inv_1"}}, []policy.Targets{unknown}, nil},
		"ansible": {runs.Run{Spec: runs.Spec{Tool: runs.Ansible, InventoryID: "inv_1"}}, []policy.Targets{two},
			[]string{"inv_1 "}},
		"the tool of an extension": {runs.Run{Spec: runs.Spec{Tool: "plan", InventoryID: "inv_1"}},
			[]policy.Targets{two}, []string{"inv_1 "}},
		"an odd limit": {
			runs.Run{Spec: runs.Spec{Tool: runs.Ansible, InventoryID: "inv_1", Controls: runs.Controls{Limit: "~odd"}}},
			[]policy.Targets{unknown}, []string{"inv_1 ~odd"},
		},
		"a pipeline": {runs.Run{Spec: runs.Spec{InventoryID: "inv_1"}, Graph: &runs.Graph{Steps: []runs.StepState{
			{StepSpec: runs.StepSpec{Tool: "python"}}, {StepSpec: runs.StepSpec{Tool: runs.Ansible}},
			{StepSpec: runs.StepSpec{Tool: "bash"}}, {StepSpec: runs.StepSpec{}},
		}}}, []policy.Targets{unknown, two, unknown, two}, []string{"inv_1 "}},
	} {
		var asked []string
		got, err := New(inventories{asked: &asked}, nil, nil).Hosts(t.Context(), &c.run)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
		if diff := cmp.Diff(c.asked, asked); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestHostsBeforeARefresh counts the hosts of an inventory that is refreshed before a run only once the run is bound.
func TestHostsBeforeARefresh(t *testing.T) {
	t.Parallel()
	b := New(inventories{asked: new([]string), fresh: true}, nil, struct{ Materials }{})
	for name, c := range map[string]struct {
		approvals *runs.Approvals
		want      int
	}{
		"new":        {nil, -1},
		"refreshing": {&runs.Approvals{Refreshing: &runs.Refreshing{}}, -1},
		"bound":      {&runs.Approvals{Parts: runs.Parts{}}, 2},
		"approved":   {&runs.Approvals{Approved: runs.Parts{}}, 2},
	} {
		r := &runs.Run{Spec: runs.Spec{Tool: runs.Ansible, InventoryID: "inv_1"}, Approvals: c.approvals}
		if got, err := b.Hosts(t.Context(), r); err != nil || got[0].Hosts != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestReach lists the hosts of all steps, once each, and reports that there may be others.
func TestReach(t *testing.T) {
	t.Parallel()
	ansible := func(inventory, limit string) runs.StepState {
		return runs.StepState{StepSpec: runs.StepSpec{InventoryID: inventory, Limit: limit}}
	}
	for name, c := range map[string]struct {
		run  runs.Run
		want runs.Reach
	}{
		"a script": {run: runs.Run{Spec: runs.Spec{Tool: "bash", InventoryID: "inv_1"}}},
		"ansible": {runs.Run{Spec: runs.Spec{Tool: runs.Ansible, InventoryID: "inv_1"}},
			runs.Reach{Hosts: []string{"a", "b"}}},
		"an inventory by its path": {runs.Run{Spec: runs.Spec{Tool: runs.Ansible, Inventory: "hosts"}},
			runs.Reach{Unknown: true}},
		"shards that are known": {runs.Run{Spec: runs.Spec{Tool: runs.Ansible, InventoryID: "inv_1"},
			ShardHosts: [][]string{{"z"}, {"c", "z"}}}, runs.Reach{Hosts: []string{"c", "z"}}},
		"a pipeline": {runs.Run{Graph: &runs.Graph{Steps: []runs.StepState{{StepSpec: runs.StepSpec{Tool: "bash"}},
			ansible("inv_1", ""), ansible("inv_2", "~odd"), ansible("inv_1", "x")}}},
			runs.Reach{Hosts: []string{"a", "b"}, Unknown: true}},
	} {
		var asked []string
		got, err := New(inventories{asked: &asked}, nil, nil).Reach(t.Context(), &c.run)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, *got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
