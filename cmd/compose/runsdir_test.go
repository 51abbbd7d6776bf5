package compose

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOwnDirIsOnesOwn(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	path := filepath.Join(base, "own")
	for range 2 {
		if err := ownDir(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if ownDir(path) == nil {
		t.Error("a directory that others may enter was taken")
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(base, link); err != nil {
		t.Fatal(err)
	}
	if ownDir(link) == nil {
		t.Error("a link was taken")
	}
}

func TestRunsDirAsConfigured(t *testing.T) {
	t.Parallel()
	d := &dataDir{root: t.TempDir()}
	s := Executor{RunsDir: "/somewhere"}
	if got := s.runsDir(d); got != "/somewhere" {
		t.Errorf("%q", got)
	}
	s.RunsDir = ""
	first := s.runsDir(d)
	t.Cleanup(func() { _ = os.Remove(first) })
	if again := s.runsDir(d); again != first {
		t.Errorf("%q, then %q", first, again)
	}
}
