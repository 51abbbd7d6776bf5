package pattern_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/catalog/internal/inventory"
	"github.com/writ-automation/writ/modules/catalog/internal/pattern"
	"github.com/writ-automation/writ/ports/catalog"
)

// TestVariables checks the precedence of Ansible: a host before its groups, and a child before its parents.
func TestVariables(t *testing.T) {
	t.Parallel()
	c, err := inventory.Parse([]byte(`
lone
[web]
web1 ansible_port=2201
web2
[db]
web2
[site:children]
web
db
[all:vars]
ansible_user=all
ansible_host=all
other=x
[site:vars]
ansible_user=site
[web:vars]
ansible_port=2200
[db:vars]
ansible_port=2300
[ungrouped:vars]
ansible_port=2400
`), catalog.INI)
	if err != nil {
		t.Fatal(err)
	}
	of := pattern.NewIndex(c).Variables("ansible_user", "ansible_port", "ansible_host")
	for host, want := range map[string]map[string]any{
		"web1": {"ansible_user": "site", "ansible_port": int64(2201), "ansible_host": "all"},
		"web2": {"ansible_user": "site", "ansible_port": int64(2200), "ansible_host": "all"},
		"lone": {"ansible_user": "all", "ansible_port": int64(2400), "ansible_host": "all"},
		"none": nil,
	} {
		if diff := cmp.Diff(want, of(host)); diff != "" {
			t.Errorf("%s: %s", host, diff)
		}
	}
}
