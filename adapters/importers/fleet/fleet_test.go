package fleet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/adapters/importers/fleet"
	"github.com/writ-automation/writ/ports/importer"
)

// TestInventory: the newest record of a host counts, alone, and nothing that is not a plain word reaches the inventory.
func TestInventory(t *testing.T) {
	t.Parallel()
	var f fleet.Fleet
	var b draft.Builder
	now := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
	for _, h := range []fleet.Host{
		{Name: "web1", Ref: "[0]", Address: "192.0.2.1", Groups: []string{"env_old", "1st"}, Seen: now},
		{Name: "web1", Ref: "[1]", Address: "192.0.2.2", Groups: []string{"env_new", "a::b", "a b"},
			Seen: now.Add(time.Hour)},
		{Name: "web1", Ref: "[2]", Groups: []string{"env_older"}, Seen: now.Add(-time.Hour)},
		{Name: "db", Ref: "[3]", Address: "{{ lookup('pipe', 'id') }}", Windows: true,
			Vars: map[string]string{"os": "Debian 12", "motd": "{{ bad }}", "Bad Name": "x", "empty": ""}},
		{Name: "web[1:9]", Ref: "[4]"}, {Name: "-x", Ref: "[5]"}, {Ref: "[6]"},
	} {
		f.Add(&b, h)
	}
	if err := f.Inventory(&b, "A fleet", "", "The rest is dropped."); err != nil {
		t.Fatal(err)
	}
	d, err := b.Draft()
	if err != nil {
		t.Fatal(err)
	}
	o := d.Objects[len(d.Objects)-1]
	content := o.Spec.(*importer.InventorySpec).Content
	for _, want := range []string{"ansible_host: 192.0.2.2", "env_new:", "a_b:", "ansible_connection: winrm",
		"os: Debian 12"} {
		if !strings.Contains(content, want) {
			t.Errorf("%q is missing in\n%s", want, content)
		}
	}
	for _, not := range []string{"{{", "192.0.2.1", "env_old", "_1st", "motd", "Bad", "web["} {
		if strings.Contains(content, not) {
			t.Errorf("%q is in\n%s", not, content)
		}
	}
	if got := fmt.Sprint(o.Mapping); !strings.Contains(got, "2 nodes") ||
		!strings.Contains(got, "2 groups: a_b, env_new") {
		t.Errorf("the mapping is %s", got)
	}
	var skipped []string
	for _, x := range d.Objects[:len(d.Objects)-1] {
		skipped = append(skipped, x.Ref)
	}
	if got := strings.Join(skipped, ""); got != "[0][2][4][5][6]" {
		t.Errorf("skipped are %s", got)
	}
	if n := len(o.Warnings); n != 5 { // the address, two values, a merged group, and what is dropped
		t.Errorf("%d warnings: %+v", n, o.Warnings)
	}
}

// TestContentIsText: whatever the words of hosts look like, a reader of YAML gets them as they are.
func TestContentIsText(t *testing.T) {
	t.Parallel()
	words := []string{
		"true", "No", "null", "~", "12", "1.5", "0x1f", "1e3", "1:30", "2026-01-01", "192.0.2.1", "1.2.3", "a: b", "a:",
		"Debian 12", "x", "y", "NaN", "1_000", "0o7", "v1+b~2", "C:/Program Files/x", "a/b", "12.", "_", "infinity", "a  b",
	}
	var f fleet.Fleet
	var b draft.Builder
	want := make(map[string]any)
	for i, w := range words {
		f.Add(&b, fleet.Host{Name: w, Ref: "r", Vars: map[string]string{"value": w}, Groups: []string{"no", "g" + w}})
		f.Add(&b, fleet.Host{Name: fmt.Sprintf("host%d", i), Ref: "r", Vars: map[string]string{"value": w}})
		if w != "~" && w != "_" {
			want[fmt.Sprintf("host%d", i)] = map[string]any{"value": w}
		} else {
			want[fmt.Sprintf("host%d", i)] = map[string]any{} // not a word
		}
	}
	if err := f.Inventory(&b, "A fleet", "", ""); err != nil {
		t.Fatal(err)
	}
	d, err := b.Draft()
	if err != nil {
		t.Fatal(err)
	}
	o := d.Objects[len(d.Objects)-1]
	var got struct {
		All struct {
			Hosts    map[string]any
			Children map[string]struct{ Hosts map[string]any }
		}
	}
	if err := yaml.Unmarshal([]byte(o.Spec.(*importer.InventorySpec).Content), &got); err != nil {
		t.Fatal(err)
	}
	members := got.All.Children["no"].Hosts
	for _, name := range []string{"true", "12", "1.5", "192.0.2.1", "2026-01-01", "y"} {
		if _, ok := members[name]; !ok || got.All.Hosts[name] == nil {
			t.Errorf("the host %q is missing among %v", name, members)
		}
	}
	for name := range members {
		delete(got.All.Hosts, name)
	}
	if diff := cmp.Diff(want, got.All.Hosts); diff != "" {
		t.Error(diff)
	}
}
