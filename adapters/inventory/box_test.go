package inventory_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/inventory"
	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/secret"
)

// TestBox runs a script of a checkout inside of a boundary, with a credential, and one that removes the permissions of
// its directories.
// Keeps T43.
func TestBox(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	key, tmp, tree := filepath.Join(data, "key"), filepath.Join(data, "tmp"), filepath.Join(data, "tmp", "s", "tree")
	write(t, key, "c4nary", 0o600)
	b, err := boundary.Open(boundary.Config{Mode: boundary.Auto, Hide: []string{data}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	if b.Status().Level == boundary.None {
		t.Fatal(b.Status().Reason)
	}
	write(t, filepath.Join(tree, "hosts.sh"), "#!/bin/sh\nK=$(cat "+key+" 2>/dev/null)\n"+
		"printf '{\"_meta\": {\"hostvars\": {\"h\": {\"key\": \"%s\", \"token\": \"%s\", \"tree\": \"%s\"}}}, '"+
		"'\"g\": [\"h\"]}' "+
		"\"$K\" \"$(cat $FILE)\" \"$(cat file)\"\n", 0o644)
	write(t, filepath.Join(tree, "file"), "seen", 0o644)
	k := inventory.New(inventory.Config{TempDir: tmp, Boundary: b})
	access := catalog.Access{Files: map[string]secret.Text{"f": "t0ken"},
		Env: map[string]secret.Text{"FILE": secret.Text(secret.FileMark("f"))}}
	content, _ := collect(t, k, catalog.Collection{Kind: catalog.ScriptSource, Tree: tree, Path: "hosts.sh",
		Access: access})
	if !strings.Contains(content, `{"key":"","token":"t0ken","tree":"seen"}`) {
		t.Error(content)
	}
	collect(t, k, script("#!/bin/sh\nmkdir -p $HOME/a/b $TMPDIR/c /tmp/x; touch /tmp/x/y\n"+
		"chmod 0 $HOME/a/b $HOME/a /tmp/x\necho '{}'\n"))
	if left, err := filepath.Glob(filepath.Join(tmp, "*")); err != nil || len(left) != 1 {
		t.Errorf("%v is left: %v", left, err)
	}
	refused(t, inventory.New(inventory.Config{TempDir: tmp, Boundary: b, AnsibleInventory: key}), script("#!/bin/sh\n"),
		"not installed")
}

// TestNoBoundary refuses programs where nothing is kept apart.
// Keeps T43.
func TestNoBoundary(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	k := collector(t, func(c *inventory.Config) { c.AllowPrograms = false })
	refused(t, k, script("#!/bin/sh\ntouch "+mark+"\necho '{}'\n"), "--allow-source-programs")
	refused(t, k, plugin(map[string]any{"plugin": "ansible.builtin.generator"}), "--allow-source-programs")
	if _, err := os.Lstat(mark); err == nil {
		t.Error("it was executed")
	}
}
