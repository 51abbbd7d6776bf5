package extensions

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// names lists a directory, nothing for one that is not there.
func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// TestFailedStartOfPlugins checks that a start which fails after its plugins were started ends these and removes what
// they had, and a data directory that it made.
// Keeps F07.
func TestFailedStartOfPlugins(t *testing.T) {
	t.Parallel()
	dir, name, _ := plugins(t)
	there := t.TempDir()
	if err := os.Mkdir(filepath.Join(there, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, o := range []harness.Options{{}, {Dir: there}} {
		o.Flags = []string{"--plugins-dir", dir, "--ai-provider", "ollama"}
		s, err := harness.Launch(t, o)
		if err == nil || !strings.Contains(s.Output(), "ai-provider: ollama: model") {
			t.Fatalf("%v\n%s", err, s.Output())
		}
		left := names(t, filepath.Join(s.Dir, "data"))
		if slices.Contains(left, "plugins") || o.Dir == "" && slices.Contains(names(t, s.Dir), "data") {
			t.Errorf("left: %v", left)
		}
		if left := processes(t, filepath.Join(dir, name)); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// TestKilledWithPlugins checks that a start removes the directories of plugins of a killed server.
// Keeps F07.
func TestKilledWithPlugins(t *testing.T) {
	t.Parallel()
	dir, _, _ := plugins(t)
	s := harness.Start(t, harness.Options{Flags: []string{"--plugins-dir", dir}})
	state := filepath.Join(s.Dir, "data", "plugins")
	s.Kill()
	left := names(t, state)
	if len(left) == 0 {
		t.Fatal("a killed server left nothing")
	}
	s = s.Again()
	for _, name := range names(t, state) {
		if slices.Contains(left, name) {
			t.Errorf("%s is left of a killed server", name)
		}
	}
	s.Stop()
	if left := names(t, state); len(left) > 0 {
		t.Errorf("left after a stop: %v", left)
	}
}
