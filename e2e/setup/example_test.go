package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/depthtest"
)

// looked records the paths that root has read.
var looked sync.Map //nolint:gochecknoglobals // once for all tests of a process

// root returns a path of the repository, and opens the files below it: otherwise files that only a child process
// reads are no inputs of the test, and a change of them does not invalidate a cached result.
func root(t *testing.T, parts ...string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join(append([]string{"..", ".."}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	look, _ := looked.LoadOrStore(p, sync.OnceValue(func() error { return lookAt(p) }))
	if err := look.(func() error)(); err != nil {
		t.Fatal(err)
	}
	return p
}

// lookAt opens every directory and reads the attributes of every file from a path downwards.
func lookAt(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return err
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if err == nil && e.Type()&os.ModeSymlink == 0 {
			err = lookAt(filepath.Join(path, e.Name()))
		}
	}
	return err
}

// smallSite replaces the playbook of a copy of the example by a short one with the same hosts. The short one is
// enough to test the commands. Other tests and the long run cover the example itself.
func smallSite(t *testing.T, site string) {
	t.Helper()
	if depthtest.Long {
		return
	}
	const text = "- name: Common ground\n  hosts: site\n  gather_facts: false\n  tasks:\n    - name: Break\n" +
		"      ansible.builtin.assert:\n        that: inventory_hostname != break_host | default('')\n"
	if err := os.WriteFile(filepath.Join(site, "site.yml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// play runs the example with plain ansible-playbook on hosts below base and returns its output.
func play(t *testing.T, base string, vars ...string) (string, int) {
	t.Helper()
	site := root(t, "docs/examples/site")
	args := []string{"-i", filepath.Join(site, "hosts.ini"), filepath.Join(site, "site.yml"), "-e", "site_base=" + base,
		"--limit", strings.Join(exampleHosts(), ",")}
	for _, v := range vars {
		args = append(args, "-e", v)
	}
	cmd := exec.CommandContext(t.Context(), "ansible-playbook", args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "ANSIBLE_NOCOLOR=1")
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatalf("ansible-playbook (install it with: apt-get install ansible-core): %v", err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// exampleHosts returns the hosts of the example.
func exampleHosts() []string {
	return depthtest.Of([]string{"store1"}, []string{"web1", "web2", "store1"})
}

// recap reads one host's line of the recap.
func recap(t *testing.T, out, host string) map[string]string {
	t.Helper()
	line := regexp.MustCompile(`(?m)^` + host + `\s+:(.*)$`).FindStringSubmatch(out)
	if line == nil {
		t.Fatalf("no recap for %s:\n%s", host, out)
	}
	counts := make(map[string]string)
	for _, f := range strings.Fields(line[1]) {
		k, v, _ := strings.Cut(f, "=")
		counts[k] = v
	}
	return counts
}

func TestExampleChangesOnceAndThenNothing(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "hosts")
	out, code := play(t, base)
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	for _, h := range exampleHosts() {
		if recap(t, out, h)["changed"] == "0" {
			t.Errorf("the first run changes nothing on %s", h)
		}
		if _, err := os.Stat(filepath.Join(base, h, "etc", "release")); err != nil {
			t.Error(err)
		}
	}
	if recap(t, out, "store1")["rescued"] != "1" {
		t.Errorf("nothing is rescued:\n%s", out)
	}
	if out, code = play(t, base); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	for _, h := range exampleHosts() {
		if n := recap(t, out, h)["changed"]; n != "0" {
			t.Errorf("the second run changes %s things on %s", n, h)
		}
	}
}
