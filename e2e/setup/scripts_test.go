package setup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// copied returns a directory with the files of the repository that "make run" needs.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, part := range []string{"e2e/setup", "docs/examples"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(root(t, part))); err != nil {
			t.Fatal(err)
		}
	}
	smallSite(t, filepath.Join(dir, "docs", "examples", "site"))
	return dir
}

// runOnce runs the script of "make run" until the example has ended.
func runOnce(t *testing.T, dir, state string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "e2e", "setup", "run.sh"))
	cmd.Env = append(os.Environ(), "RUN_ONCE=1", "RUN_STATE="+state, "RUN_BIN="+harness.Binary(t), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestRunTwice(t *testing.T) {
	t.Parallel()
	dir, state := copied(t), t.TempDir()
	var first []byte
	for range 2 {
		out, err := runOnce(t, dir, state)
		if err != nil {
			log, _ := os.ReadFile(filepath.Join(state, "server.log")) // part of a message
			t.Fatalf("%v\n%s\n%s", err, out, log)
		}
		for _, h := range []string{"web1", "web2", "store1"} {
			if !strings.Contains(out, h) {
				t.Errorf("nothing is said of %s:\n%s", h, out)
			}
		}
		token, err := os.ReadFile(filepath.Join(state, "token"))
		if err != nil || !regexp.MustCompile(`^writ_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}\n$`).Match(token) {
			t.Fatalf("the token file holds %d bytes: %v", len(token), err)
		}
		if info, err := os.Stat(filepath.Join(state, "token")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the token file is %v: %v", info.Mode(), err)
		}
		if first != nil && string(first) != string(token) {
			t.Error("the second start has another token")
		}
		first = token
		if log, err := os.ReadFile(filepath.Join(state, "server.log")); err != nil ||
			strings.Contains(string(log), strings.TrimSpace(string(token))) {
			t.Errorf("the token is in the server's log: %v", err)
		}
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	cmd := exec.CommandContext(t.Context(), root(t, "e2e/setup/run.sh"))
	cmd.Env = append(os.Environ(), "RUN_STATE="+state, "RUN_BIN=false")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "ended before it was ready") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestPostgresIsThereForTheCommandAlone(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), root(t, "e2e/setup/postgres.sh"), "bash", "-c",
		`echo "$WRIT_TEST_POSTGRES"; exit 7`)
	cmd.Env = append(os.Environ(), "WRIT_TEST_POSTGRES=")
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Fatalf("exit code %d, want the command's: %v", code, err)
	}
	dir := regexp.MustCompile(`host=([^&]+)`).FindStringSubmatch(string(out))
	if dir == nil {
		t.Fatalf("no address: %q", out)
	}
	if _, err := os.Stat(dir[1]); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir[1], err)
	}
}

func TestInstallAsksForNothingThatIsThere(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), root(t, "e2e/setup/install.sh"), "test").CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// TestInstallExplains runs the script on a machine without the tools and without a way to install them.
func TestInstallExplains(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	for _, tool := range []string{"bash", "id"} {
		p, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(p, filepath.Join(bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "bash"), root(t, "e2e/setup/install.sh"), "run")
	cmd.Env = []string{"PATH=" + bin}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "This needs: ansible-core") {
		t.Errorf("%v: %s", err, out)
	}
}

// tofu runs the script that builds OpenTofu, for another cache than the one of this account, and with a go that fetches
// nothing.
func tofu(t *testing.T, cache string, args ...string) (string, error) {
	t.Helper()
	bin := t.TempDir()
	//nolint:gosec // a program
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\necho nothing is there >&2\nexit 1\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), root(t, "e2e/setup/tofu.sh"), args...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache, "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestTofuIsBuiltOnce checks that a program of the right version is kept, and that one of another version is not taken.
func TestTofuIsBuiltOnce(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	program := func(says string) {
		dir := filepath.Join(cache, "writ", "tofu-1.12.6")
		//nolint:gosec // a program
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "tofu"),
			[]byte("#!/bin/sh\necho '"+says+"'\n"), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	program("OpenTofu v1.0.0")
	if out, err := tofu(t, cache, "where"); err == nil || !strings.Contains(out, "Build it with: make setup") {
		t.Errorf("another version: %v: %s", err, out)
	}
	if out, err := tofu(t, cache); err == nil {
		t.Errorf("another version is kept: %s", out)
	}
	program("OpenTofu v1.12.6")
	if out, err := tofu(t, cache, "where"); err != nil ||
		strings.TrimSpace(out) != filepath.Join(cache, "writ", "tofu-1.12.6") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := tofu(t, cache); err != nil || out != "" {
		t.Errorf("it is built again: %v: %s", err, out)
	}
}

// TestTofuExplains runs the script where the source is not, and checks that nothing is left of it.
func TestTofuExplains(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	out, err := tofu(t, cache)
	if err == nil || !strings.Contains(out, "nothing is there") ||
		!strings.Contains(out, "Make a module proxy reachable") {
		t.Errorf("%v: %s", err, out)
	}
	if left, err := os.ReadDir(filepath.Join(cache, "writ", "tofu-1.12.6")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
