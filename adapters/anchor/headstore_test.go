package anchor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/anchor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/audit/audittest"
	"github.com/writ-automation/writ/ports/fault"
)

func TestHeadStoreConforms(t *testing.T) {
	t.Parallel()
	audittest.HeadStore(t, func(t *testing.T) (first, again audit.HeadStore) {
		dir := filepath.Join(t.TempDir(), "heads")
		return anchor.NewHeadStore(dir), anchor.NewHeadStore(dir)
	})
}

const (
	storeOrigin = "a.example/audit/in_1/e1"
	// The first 32 hex digits of the SHA-256 of that origin.
	storeName = "28a880378cbab9301598844143e88d77.note"
)

// must fails the test on an error in its setup.
func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestHeadStoreIsPrivate checks names, modes and leftover files, also for a directory that others could read.
func TestHeadStoreIsPrivate(t *testing.T) {
	t.Parallel()
	made, open := filepath.Join(t.TempDir(), "heads"), filepath.Join(t.TempDir(), "heads")
	//nolint:gosec // that others can read it is the point
	must(t, os.Mkdir(open, 0o755), os.WriteFile(filepath.Join(open, "README"), nil, 0o600), os.Chmod(open, 0o755))
	for dir, files := range map[string]int{made: 1, open: 2} {
		note := audittest.Note(storeOrigin, 7, 1)
		must(t, anchor.NewHeadStore(dir).Save(note))
		for path, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, filepath.Join(dir, storeName): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode() != want {
				t.Errorf("%s: %v %v", path, info, err)
			}
		}
		if b, err := os.ReadFile(filepath.Join(dir, storeName)); string(b) != note || err != nil {
			t.Errorf("%q %v", b, err)
		}
		if left, err := os.ReadDir(dir); len(left) != files || err != nil {
			t.Errorf("left behind: %v %v", left, err)
		}
		if notes, err := anchor.NewHeadStore(dir).Notes(); len(notes) != 1 || err != nil {
			t.Errorf("%q %v", notes, err)
		}
	}
	if err := anchor.NewHeadStore(filepath.Join(made, "no", "parent")).
		Save(audittest.Note(storeOrigin, 7, 1)); !fault.Is(err, fault.Unavailable) {
		t.Errorf("without a parent: %v", err)
	}
}

// TestHeadStoreWithOtherFiles expects an error for each such file, the other heads, and no overwritten file.
func TestHeadStoreWithOtherFiles(t *testing.T) {
	t.Parallel()
	old, next, other := audittest.Note(storeOrigin, 7, 1), audittest.Note(storeOrigin, 8, 1),
		audittest.Note("b.example/audit/in_2/e1", 3, 2)
	for name, damage := range map[string]func(t *testing.T, path string){
		"cut off":          func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte(old[:len(old)/2]), 0o600)) },
		"empty":            func(t *testing.T, path string) { must(t, os.WriteFile(path, nil, 0o600)) },
		"another origin's": func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte(other), 0o600)) },
		"too large": func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte(old+strings.Repeat("x", 64<<10)), 0o600))
		},
		"a link": func(t *testing.T, path string) {
			must(t, os.Rename(path, path+".kept"), os.Symlink(path+".kept", path))
		},
		"a folder": func(t *testing.T, path string) { must(t, os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		dir := filepath.Join(t.TempDir(), "heads")
		store, path := anchor.NewHeadStore(dir), filepath.Join(dir, storeName)
		must(t, store.Save(old), store.Save(other))
		damage(t, path)
		before, _ := os.ReadFile(path)
		notes, err := store.Notes()
		if len(notes) != 1 || notes[0] != other || !fault.Is(err, fault.Unavailable) ||
			!strings.Contains(err.Error(), storeName) {
			t.Errorf("%s: %q %v", name, notes, err)
		}
		if err := store.Save(next); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: it is written over: %v", name, err)
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Errorf("%s: it holds %q", name, after)
		}
		must(t, store.Save(audittest.Note("b.example/audit/in_2/e1", 4, 2)))
	}
}

func TestHeadStoreThatIsNoDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link, full := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "full")
	must(t, os.WriteFile(file, nil, 0o600), os.Symlink(dir, link), os.Mkdir(full, 0o700))
	for i := range 1024 {
		must(t, os.WriteFile(filepath.Join(full, strings.Repeat("a", 1+i%200)+strings.Repeat("b", i/200)), nil, 0o600))
	}
	for _, path := range []string{file, link, full} {
		store := anchor.NewHeadStore(path)
		if notes, err := store.Notes(); len(notes) != 0 || !fault.Is(err, fault.Unavailable) {
			t.Errorf("notes of %s: %q %v", path, notes, err)
		}
		if err := store.Save(audittest.Note(storeOrigin, 7, 1)); !fault.Is(err, fault.Unavailable) {
			t.Errorf("keep in %s: %v", path, err)
		}
	}
}
