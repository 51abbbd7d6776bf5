//go:build long

package ansible_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/writ-automation/writ/adapters/tools/ansible"
)

// TestOtherVersions runs the tests of this package with the ansible-core of other releases of Debian.
func TestOtherVersions(t *testing.T) {
	t.Parallel()
	for _, v := range []struct{ release, skip, why string }{
		{release: "trixie"},
		{release: "forky", skip: "|TestVaultIDs", why: "vaults need a library in C, which only the system's own Python has"},
	} {
		t.Run(v.release, func(t *testing.T) {
			dir, err := filepath.Abs(filepath.Join("../../../bin/ansible", v.release))
			if err != nil {
				t.Fatal(err)
			}
			if reason, err := os.ReadFile(filepath.Join(dir, "unavailable")); err == nil && v.release != "trixie" {
				t.Log(string(reason))
				return
			}
			bin := filepath.Join(dir, "bin")
			if _, err := os.Stat(filepath.Join(bin, "ansible-playbook")); err != nil {
				t.Fatalf("%v: e2e/setup/install.sh long brings it", err)
			}
			t.Log(v.why)
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), self, "-test.timeout=20m", "-test.skip=^(TestOtherVersions"+v.skip+")$")
			cmd.Env = append(os.Environ(), ansible.UnderTest+"="+bin)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
