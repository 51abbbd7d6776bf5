package fleet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
