// Package ansibletest runs tests with the versions of Ansible that "e2e/setup/install.sh long" unpacks.
package ansibletest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// directory is the environment variable that names the directory of the programs to test.
const directory = "WRIT_TEST_ANSIBLE"

// required is the release of Debian whose ansible-core has to be there. Others may lack a Python that executes them.
const required = "trixie"

// Program returns the path of a program of the Ansible under test, which is the installed one unless Others runs the
// test.
func Program(name string) string {
	return filepath.Join(cmp.Or(os.Getenv(directory), "/usr/bin"), name)
}

// Unpacked reports whether the Ansible under test is one that was unpacked.
func Unpacked() bool { return os.Getenv(directory) != "" }

// Others runs the tests of the calling package once more with each unpacked Ansible, first on the PATH, without the
// calling test. lacks names, for a release, the tests that cannot pass with it. It fails if none was unpacked.
func Others(t *testing.T, lacks map[string][]string) {
	t.Helper()
	base := filepath.Join(root(t), "bin", "ansible")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, release := range []string{required, "forky"} {
		t.Run(release, func(t *testing.T) {
			if reason, err := os.ReadFile(filepath.Join(base, release, "unavailable")); err == nil && release != required {
				t.Log(string(reason))
				return
			}
			bin := filepath.Join(base, release, "bin")
			if _, err := os.Stat(filepath.Join(bin, "ansible-playbook")); err != nil {
				t.Fatalf("%v: e2e/setup/install.sh long brings it", err)
			}
			skip := append([]string{strings.Split(t.Name(), "/")[0]}, lacks[release]...)
			cmd := exec.CommandContext(t.Context(), self, "-test.timeout=20m", "-test.skip=^("+strings.Join(skip, "|")+")$")
			cmd.Env = append(os.Environ(), directory+"="+bin, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// root returns the directory of the module: tests run in that of their package.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("the tests run outside of the module")
	return ""
}
