package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root returns a path of the repository.
func root(t *testing.T, parts ...string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join(append([]string{"..", ".."}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// play runs the example with plain ansible-playbook on hosts below base and returns its output.
func play(t *testing.T, base string, vars ...string) (string, int) {
	t.Helper()
	args := []string{"-i", root(t, "docs/examples/site/hosts.ini"), root(t, "docs/examples/site/site.yml"), "-e", "site_base=" + base}
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
	for _, h := range []string{"web1", "web2", "store1"} {
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
	for _, h := range []string{"web1", "web2", "store1"} {
		if n := recap(t, out, h)["changed"]; n != "0" {
			t.Errorf("the second run changes %s things on %s", n, h)
		}
	}
}

func TestExampleFailsOnRequest(t *testing.T) {
	t.Parallel()
	out, code := play(t, filepath.Join(t.TempDir(), "hosts"), "break_host=web2")
	if code != 2 {
		t.Errorf("exit code %d, want 2:\n%s", code, out)
	}
	if recap(t, out, "web2")["failed"] != "1" || recap(t, out, "web1")["failed"] != "0" {
		t.Errorf("web2 alone should fail:\n%s", out)
	}
}
