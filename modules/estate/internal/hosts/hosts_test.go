package hosts

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
)

// fleet has readings of hosts, of which the caller may see those of its scope, and one stored inventory.
type fleet struct {
	estate.FactStore
	catalog.InventoryReferences
	list   []estate.Reading
	hidden string // an inventory that the caller may not read
	asked  []string
}

func (f *fleet) Now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func (f *fleet) Scope(context.Context) (access.Scope, error) {
	return access.Scope{Orgs: []string{"o"}}, nil
}

func (f *fleet) May(_ context.Context, _ access.Level, objects ...string) (bool, error) {
	return !slices.Contains(objects, f.hidden), nil
}

func (f *fleet) At(_ context.Context, q estate.AtQuery, s access.Scope, yield func(estate.Reading) error) error {
	if len(s.Orgs) != 1 || !q.At.Equal(f.Now()) {
		return fault.BadField("at", "of another caller or time")
	}
	for _, r := range f.list {
		if err := yield(r); err != nil {
			return err
		}
	}
	return nil
}

func (f *fleet) Variables(_ context.Context, id string, names ...string) (func(string) map[string]any, error) {
	f.asked = append(f.asked, id)
	if id != "inv_1" && id != "inv_2" {
		return nil, catalog.InventoryNotFound.New("no inventory %s", id)
	}
	return func(host string) map[string]any {
		if host == "absent" {
			return nil
		}
		return map[string]any{"ansible_host": "10.0.0.1", "ansible_port": int64(22), "ansible_user": "{{ who }}",
			"ansible_connection": map[string]any{"__ansible_vault": "x"}, "ansible_python_interpreter": true}
	}, nil
}

func (f *fleet) queries() *Queries { return &Queries{Facts: f, Inventories: f, Guard: f, Clock: f} }

func reading(host, inventory string, facts estate.Facts) estate.Reading {
	return estate.Reading{Host: host, InventoryID: inventory, Facts: facts}
}

func TestInventory(t *testing.T) {
	t.Parallel()
	debian := estate.Facts{"ansible_os_family": json.RawMessage(`"Debian"`)}
	f := &fleet{hidden: "inv_2", list: []estate.Reading{
		reading("a", "inv_1", estate.Facts{
			"ansible_os_family": json.RawMessage(`"{{ lookup('pipe', 'id') }}"`), "ansible_memtotal_mb": json.RawMessage(`900`),
			"ansible_env.PASSWORD":                  json.RawMessage(`"c4nary"`),
			"ansible_mounts./.mount":                json.RawMessage(`"/"`),
			"ansible_mounts./.size_total":           json.RawMessage(`2147483648`),
			"ansible_mounts./.size_available":       json.RawMessage(`1073741824`),
			"ansible_mounts./.device":               json.RawMessage(`"/dev/sda1"`),
			`ansible_mounts."/a.b".mount`:           json.RawMessage(`"/a.b"`),
			`ansible_mounts."/a.b".fstype`:          json.RawMessage(`"xfs"`),
			"ansible_mounts.__ansible_vault.mount":  json.RawMessage(`"__ansible_vault"`),
			"ansible_mounts.__ansible_vault.fstype": json.RawMessage(`"x"`),
			"ansible_default_ipv4.address":          json.RawMessage(`null`),
		}),
		reading("b", "inv_2", debian), reading("c", "", debian), reading("d", "inv_gone", debian),
		reading("absent", "inv_1", debian), reading("{{ evil }}", "inv_1", debian),
	}}
	got := map[string]any{}
	var names []string
	if err := f.queries().Inventory(t.Context(), "os.family~e", func(host string, vars map[string]any) error {
		names = append(names, host)
		got[host] = vars
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d", "absent"}, names); diff != "" {
		t.Error(diff)
	}
	text, err := json.Marshal(got["a"])
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"ansible_host":"10.0.0.1","ansible_port":22,"writ_facts":{"memory":{"total_mb":900},"mounts":` +
		`{"/":{"device":{"__ansible_unsafe":"/dev/sda1"},"free_gb":1.000,"size_gb":2.000,"used_percent":50.000},` +
		`"/a.b":{"fstype":{"__ansible_unsafe":"xfs"}}},"os":{"family":{"__ansible_unsafe":"{{ lookup('pipe', 'id') }}"}}}}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	for _, host := range []string{"b", "c", "d", "absent"} {
		if vars := got[host].(map[string]any); len(vars) != 1 {
			t.Errorf("%s: %v", host, vars)
		}
	}
	if diff := cmp.Diff([]string{"inv_1", "inv_gone"}, f.asked); diff != "" {
		t.Error(diff)
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	f := &fleet{list: []estate.Reading{reading("a", "inv_1", nil), reading("b", "", nil), reading("c", "inv_2", nil)}}
	got, err := f.queries().Select(t.Context(), "host=a or host=b")
	want := []estate.SelectedHost{{Host: "a", InventoryID: "inv_1"}, {Host: "b"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := f.queries().Select(t.Context(), "host="); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
}
