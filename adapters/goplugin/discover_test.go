package goplugin

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPermissions checks that a plugin which another account may write or owns is refused, and such a directory too.
// Keeps T09.
func TestPermissions(t *testing.T) {
	t.Parallel()
	const foreign = 54321
	for name, c := range map[string]struct {
		mode  fs.FileMode
		owner int
		want  string
	}{
		"mine":  {mode: 0o755},
		"group": {mode: 0o775, want: "chmod go-w"},
		"other": {mode: 0o757, want: "chmod go-w"},
		// A sticky bit keeps others from replacing files, and not from adding plugins.
		"sticky":  {mode: 0o777 | fs.ModeSticky, want: "chmod go-w"},
		"foreign": {mode: 0o755, owner: foreign, want: "belongs to another account"},
	} {
		if c.owner != 0 && os.Geteuid() != 0 {
			continue // only root gives files away
		}
		dir := t.TempDir()
		file := filepath.Join(dir, name)
		change := func(path string) {
			t.Helper()
			err := os.Chmod(path, c.mode)
			if err == nil && c.owner != 0 {
				err = os.Chown(path, c.owner, c.owner)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		touched(t, file, "#!/bin/sh")
		change(file)
		list, err := discover(dir)
		if err != nil || len(list) != 1 || !fits(list[0].err, c.want) {
			t.Errorf("a file, %s: %+v, %v", name, list, err)
		}
		change(dir)
		if _, err := discover(dir); !fits(err, c.want) {
			t.Errorf("a directory, %s: %v", name, err)
		}
	}
}

// fits reports whether an error has a text, or whether there is none if the text is empty.
func fits(err error, want string) bool {
	return (err == nil) == (want == "") && strings.Contains(fmt.Sprint(err), want)
}

// TestNumberOfPlugins checks that a directory with more plugins than may be started stops the start.
// Keeps T09.
func TestNumberOfPlugins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range maxPlugins + 1 {
		list, err := discover(dir)
		if err != nil || len(list) != i {
			t.Fatalf("%d of %d plugins: %v", len(list), i, err)
		}
		path := filepath.Join(dir, fmt.Sprint("p", i))
		touched(t, path, "#!/bin/sh")
		if err := os.Chmod(path, 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	c, _ := fixture(t, dir)
	if _, err := open(t.Context(), c, quick()); !fits(err, "has 65 executables, and at most 64 are started") {
		t.Error(err)
	}
}
