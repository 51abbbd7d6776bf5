package ansible_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInventoryOutsideOfTheProject refuses an inventory by its name and by where its links lead, a file whose name looks
// like a list of hosts included. What the executor wrote itself is read.
func TestInventoryOutsideOfTheProject(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	outside := filepath.Join(elsewhere, "a,b")
	if err := os.WriteFile(outside, []byte(inventory), 0o644); err != nil {
		t.Fatal(err)
	}
	p := newProject(t, map[string]string{
		"site.yml": "- hosts: h1\n  gather_facts: false\n  tasks: []\n", "in/hosts": inventory,
	})
	for name, target := range map[string]string{"link": outside, "x,y": outside, "dir": elsewhere, "ok": "in/hosts"} {
		if err := os.Symlink(target, filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	up, err := filepath.Rel(p.dir, outside)
	if err != nil {
		t.Fatal(err)
	}
	for name, own := range map[string]bool{
		outside: false, "link": false, "x,y": false, "dir/a,b": false, up: false, "..": false, "../nosuch": false,
		"~/hosts": false, "$PWD/../hosts": false, "in": true, "ok": true, outside + "#own": true,
	} {
		text, provided := strings.CutSuffix(name, "#own")
		p.play.Inventory, p.play.OwnInventory = text, provided
		res := p.run()
		if refused := strings.Contains(res.Error, "outside of the project"); refused == own || own && res.ExitCode != 0 {
			t.Errorf("%s: %+v", name, res)
		}
	}
}
