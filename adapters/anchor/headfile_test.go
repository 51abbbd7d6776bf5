package anchor_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/adapters/anchor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

func TestHeadFileReplaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "head")
	h := anchor.NewHeadFile(path)
	if note, err := h.Load(); note != "" || err != nil {
		t.Fatalf("a file that is not there: %q %v", note, err)
	}
	for _, note := range []string{"first\n", "a longer second one\n", strings.Repeat("x", 64<<10), "short\n"} {
		if err := h.Save(note); err != nil {
			t.Fatal(err)
		}
		if got, err := anchor.NewHeadFile(path).Load(); got != note || err != nil {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(dir); len(left) != 1 || err != nil {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestHeadFileRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("large"), make([]byte, 64<<10+1), 0o600), os.Mkdir(at("folder"), 0o700),
		os.WriteFile(at("target"), []byte("kept"), 0o600), os.Symlink(at("target"), at("link")),
		os.WriteFile(at("head"), []byte("kept"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"large", "folder", "link"} {
		if note, err := anchor.NewHeadFile(at(name)).Load(); note != "" || !fault.Is(err, fault.Unavailable) {
			t.Errorf("load %s: %d bytes, %v", name, len(note), err)
		}
	}
	for _, path := range []string{at("folder"), at("link"), at("no/folder"), at("head") + "/below"} {
		if err := anchor.NewHeadFile(path).Save("note"); !audit.AnchorFailed.Is(err) {
			t.Errorf("save %s: %v", path, err)
		}
	}
	for _, note := range []string{"", strings.Repeat("x", 64<<10+1)} {
		if err := anchor.NewHeadFile(at("head")).Save(note); !audit.AnchorFailed.Is(err) {
			t.Errorf("save %d bytes: %v", len(note), err)
		}
	}
	for _, name := range []string{"head", "target"} {
		if b, err := os.ReadFile(at(name)); string(b) != "kept" || err != nil {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
	if left, err := filepath.Glob(at(".head-*")); len(left) != 0 || err != nil {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestHeadFileIsWhole reads during concurrent writes: each read returns one of the notes.
func TestHeadFileIsWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "head")
	var writers sync.WaitGroup
	for _, c := range "abcd" {
		writers.Go(func() {
			h := anchor.NewHeadFile(path)
			for range 10 {
				if err := h.Save(strings.Repeat(string(c), 8<<10)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	reader := anchor.NewHeadFile(path)
	for range 100 {
		note, err := reader.Load()
		if err != nil {
			t.Fatal(err)
		}
		if note != "" && (len(note) != 8<<10 || strings.Trim(note, note[:1]) != "") {
			t.Fatalf("a mixture of %d bytes", len(note))
		}
	}
	writers.Wait()
}
