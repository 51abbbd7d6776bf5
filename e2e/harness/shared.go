package harness

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// sharedBase is the parent of shared directories, which servers and workers under test show to their runs.
func sharedBase() string { return filepath.Join(os.TempDir(), "writ-e2e-"+strconv.Itoa(os.Getuid())) }

// showShared are the flags that show it.
func showShared() []string { return []string{"--isolation-show", sharedBase() + ":rw"} }

// SharedFile returns a file to which the test and every run of its servers may add.
func SharedFile(t testing.TB) string {
	t.Helper()
	file := filepath.Join(Shared(t), "notes")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chmod(file, 0o666)); err != nil { //nolint:gosec // for runs
		t.Fatal(err)
	}
	return file
}

// Shared returns a directory in which the test and the runs of its servers read and write: runs see neither the
// temporary directory nor the files of the test's account. What the test writes there for runs must be readable by
// everybody.
func Shared(t testing.TB) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(sharedBase(), 0o755), os.Chmod(sharedBase(),
		0o755)); err != nil { //nolint:gosec // for runs
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(sharedBase(), "test-")
	if err == nil {
		err = os.Chmod(dir, 0o777) //nolint:gosec // for runs
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
