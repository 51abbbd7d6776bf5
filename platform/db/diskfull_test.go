package db_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/fault"
)

// smallDisk mounts a file system of 4 MiB, which takes root.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatalf("mount a small tmpfs, which this test needs root for: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount the tmpfs: %v", err)
		}
	})
	return dir
}

// TestDiskFull fills the disk under eight writers, then frees space. Exactly the confirmed writes are stored, reads
// work all the time, and writes continue without a restart.
func TestDiskFull(t *testing.T) {
	dir := smallDisk(t)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	d := dbtest.Connect(t, db.Config{URL: filepath.Join(dir, "writ.db")})
	if err := d.Migrate(t.Context(), migrations(t)); err != nil {
		t.Fatal(err)
	}
	var confirmed, unknown sync.Map
	var full atomic.Int32
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for n := 0; full.Load() < 40 && n < 2000; n++ {
				id := fmt.Sprintf("%d-%04d", w, n)
				body := id + strings.Repeat("x", 2000)
				err := d.Do(t.Context(), func(ctx context.Context) error { return insert(ctx, d, note{ID: id, Body: body}) })
				switch {
				case err == nil:
					confirmed.Store(id, true)
				case db.OutcomeUnknown.Is(err):
					unknown.Store(id, true)
					full.Add(1)
				default:
					full.Add(1)
					wantKind(t, err, fault.Unavailable)
				}
				if err := d.Probe(t.Context()); err != nil {
					t.Errorf("a read on a full disk: %v", err)
				}
			}
		})
	}
	writers.Wait()
	if full.Load() < 40 {
		t.Fatalf("the disk never filled: %d errors", full.Load())
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	mustInsert(t, d, note{ID: "after"})
	present := map[string]bool{}
	for _, id := range ids(t, d) {
		present[id] = true
		_, ok := confirmed.Load(id)
		_, maybe := unknown.Load(id)
		if !ok && !maybe && id != "after" {
			t.Errorf("%s is there, its unit had failed", id)
		}
	}
	confirmed.Range(func(id, _ any) bool {
		if !present[id.(string)] {
			t.Errorf("%s was confirmed and is not there", id)
		}
		return true
	})
	var verdict string
	if err := d.Read(t.Context()).NewRaw("PRAGMA integrity_check").Scan(t.Context(), &verdict); err != nil ||
		verdict != "ok" {
		t.Errorf("integrity: %q %v", verdict, err)
	}
}
