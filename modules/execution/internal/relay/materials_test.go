package relay_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/execution/internal/relay"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

func named(r *runs.Run) { r.Spec.InventoryID, r.Spec.ProjectID, r.Commit = "inv_1", "prj_1", "c0ffee" }

// TestInventories checks that they are refreshed, except for a shard.
func TestInventories(t *testing.T) {
	t.Parallel()
	w := one(t)
	_, h := w.begun(named)
	_, shard := w.begun(named, func(r *runs.Run) { r.Kind, r.ParentID = runs.Shard, h.RunID })
	for _, h := range []execution.Leaseholder{h, shard} {
		got, err := w.relay.Inventory(t.Context(), h)
		want := execution.RelayInventory{Content: []byte("[web]\nw1\n"), Format: string(catalog.INI),
			KnownHosts: []byte("h1 key\n"), HostKeyPolicy: catalog.Strict,
			Warnings: []runs.Warning{{Code: runs.WarnInventoryStale, Message: "it is the last good one"}}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil || w.materials.fresh.Load() != 1 {
			t.Errorf("%v, %d asked anew: %s", err, w.materials.fresh.Load(), diff)
		}
	}
}

// TestWhatIsNotNamed checks that objects of other runs are not found.
func TestWhatIsNotNamed(t *testing.T) {
	t.Parallel()
	w := one(t)
	_, h := w.begun()
	open := func() (io.Writer, error) { t.Error("something is sent"); return io.Discard, nil }
	if _, err := w.relay.Inventory(t.Context(), h); !catalog.InventoryNotFound.Is(err) {
		t.Errorf("inventory: %v", err)
	}
	if err := w.relay.Project(t.Context(), h, open); !catalog.ProjectNotFound.Is(err) {
		t.Errorf("project: %v", err)
	}
	_, with := w.begun(named)
	w.materials.err = catalog.CommitNotFound.New("no commit")
	if err := w.relay.Project(t.Context(), with, open); !catalog.CommitNotFound.Is(err) {
		t.Errorf("commit: %v", err)
	}
	if _, err := w.relay.Inventory(t.Context(), with); !catalog.CommitNotFound.Is(err) {
		t.Errorf("a fault of the catalog: %v", err)
	}
	w.empty()
}

// empty requires that no work tree is left.
func (w *fixture) empty() {
	w.t.Helper()
	if left, err := os.ReadDir(w.cfg.ScratchDir); err != nil && !errors.Is(err, os.ErrNotExist) || len(left) != 0 {
		w.t.Errorf("left behind: %v %v", left, err)
	}
}

// TestProjects checks that they are sent as committed, with their requirements, and that nothing is left behind.
func TestProjects(t *testing.T) {
	t.Parallel()
	w := one(t, func(c *relay.Config) { c.ScratchDir = filepath.Join(c.ScratchDir, "relay") })
	roles := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(roles, "r"), 0o700),
		os.Symlink("/etc/passwd", filepath.Join(roles, "out"))); err != nil {
		t.Fatal(err)
	}
	w.materials.deps = catalog.Deps{Roles: roles}
	_, h := w.begun(named)
	var b bytes.Buffer
	w.must(w.relay.Project(t.Context(), h, func() (io.Writer, error) { return &b, nil }))
	got := map[string]string{}
	for in := tar.NewReader(&b); ; {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		w.must(err)
		text, err := io.ReadAll(in)
		w.must(err)
		got[e.Name] = string(text)
	}
	if diff := cmp.Diff(map[string]string{"project/": "", "project/site.yml": "c0ffee", "roles/": "", "roles/r/": ""},
		got); diff != "" {
		t.Error(diff)
	}
	w.empty()
	if filepath.Dir(filepath.Dir(w.materials.trees[0])) != w.cfg.ScratchDir {
		t.Errorf("made at %s", w.materials.trees[0])
	}
	broken := errors.New("the connection broke")
	for _, open := range []func() (io.Writer, error){
		func() (io.Writer, error) { return nil, broken }, func() (io.Writer, error) { return torn{broken}, nil },
	} {
		if err := w.relay.Project(t.Context(), h, open); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
		w.empty()
	}
}

type torn struct{ err error }

func (t torn) Write([]byte) (int, error) { return 0, t.err }

// TestSweep checks that only the trees of an earlier process are removed.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := one(t, func(c *relay.Config) { c.ScratchDir = filepath.Join(dir, "relay") })
	w.must(w.relay.Sweep())
	w.must(os.MkdirAll(filepath.Join(dir, "relay", "writ-relay-1", "project"), 0o700))
	w.must(os.MkdirAll(filepath.Join(dir, "relay", "other"), 0o700))
	w.must(w.relay.Sweep())
	left, err := os.ReadDir(filepath.Join(dir, "relay"))
	if err != nil || len(left) != 1 || left[0].Name() != "other" {
		t.Errorf("%v %v", left, err)
	}
}
