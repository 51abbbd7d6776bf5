package dbtest

import (
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"
)

// Before returns those of the migrations whose names are before number, such as 0005: the schema of an older version.
func Before(t testing.TB, migrations fs.FS, number string) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	err := fs.WalkDir(migrations, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.Compare(path.Base(name), number) >= 0 {
			return err
		}
		b, err := fs.ReadFile(migrations, name)
		out[name] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%d migrations before %s: %v", len(out), number, err)
	}
	return out
}
