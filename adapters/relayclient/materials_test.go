package relayclient_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/relayclient"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/waittest"
)

// naming makes a run name an inventory, or a project at a commit.
func naming(inventory, project, commit string) func(*execution.RelayRun) {
	return func(r *execution.RelayRun) { r.InventoryID, r.ProjectID, r.Commit = inventory, project, commit }
}

func shard(r *execution.RelayRun) { r.Kind = runs.Shard }

func TestInventories(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	w.claimed()
	whole, part := w.claimed(naming("inv_1", "", "")), w.claimed(naming("inv_1", "", ""), shard)
	w.claimed(naming("inv_2", "", ""), func(r *execution.RelayRun) { r.Name = "its source is away" })
	for _, c := range []struct {
		id, by, stale string
		fresh         bool
	}{{"inv_1", whole.Lease.RunID, "", true}, {"inv_1", part.Lease.RunID, "", false},
		{"inv_2", "run_004", "its source is away", true}} {
		text, warnings, err := w.Inventory(t.Context(), c.id, c.fresh)
		want := catalog.InventoryText{Content: []byte("of " + c.by), Format: catalog.INI, KnownHosts: []byte("h1 key\n"),
			HostKeyPolicy: catalog.Strict}
		if diff := cmp.Diff(want, text); diff != "" || err != nil || len(warnings) != 1 || warnings[0].Message != c.stale {
			t.Errorf("%+v: %s %v %v", c, diff, warnings, err)
		}
	}
	calls := len(w.fake.calls("/inventory"))
	for id, fresh := range map[string]bool{"inv_2": false, "inv_3": true} {
		if _, _, err := w.Inventory(t.Context(), id, fresh); !runs.LeaseLost.Is(err) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if n := len(w.fake.calls("/inventory")); n != calls {
		t.Errorf("%d calls for what no run names", n-calls)
	}
}

// If a run is lost, another one that names the same object is used.
func TestMaterialsByAnyRunThatNamesThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	first, second := w.claimed(naming("inv_1", "", "")), w.claimed(naming("inv_1", "", ""))
	w.fake.expire(second.Lease.RunID)
	text, _, err := w.Inventory(t.Context(), "inv_1", true)
	if err != nil || string(text.Content) != "of "+first.Lease.RunID {
		t.Errorf("%q %v", text.Content, err)
	}
	w.kept(first.Lease.RunID)
	w.fake.expire(first.Lease.RunID)
	if _, _, err := w.Inventory(t.Context(), "inv_1", true); !runs.LeaseLost.Is(err) {
		t.Errorf("%v", err)
	}
}

func TestInventoryFormats(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"", "../../x", "a/b", "INI", strings.Repeat("a", 17)} {
		w := newFixture(t, nil)
		w.claimed(naming("inv_1", "", ""))
		w.fake.set(func() {
			w.fake.instead = func(rw http.ResponseWriter, _ *http.Request, _ []byte) bool {
				answer(rw, execution.RelayInventory{Content: []byte("x"), Format: format})
				return true
			}
		})
		if _, _, err := w.Inventory(t.Context(), "inv_1", true); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%q: %v", format, err)
		}
	}
}

// file is an entry of an archive: a directory where the name ends so, a link where it has a target.
type file struct {
	name, text, target string
	mode               int64
}

func archive(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Typeflag: tar.TypeReg, Mode: f.mode, Size: int64(len(f.text))}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if f.target != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.target
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// gives makes the server answer every call for a project.
func (w *fixture) gives(give func(rw http.ResponseWriter)) {
	w.fake.set(func() {
		w.fake.instead = func(rw http.ResponseWriter, r *http.Request, _ []byte) bool {
			if !strings.HasSuffix(r.URL.Path, "/project") {
				return false
			}
			give(rw)
			return true
		}
	})
}

func (w *fixture) givesArchive(raw []byte) {
	w.gives(func(rw http.ResponseWriter) {
		rw.Header().Set("Content-Type", "application/x-tar")
		_, _ = rw.Write(raw)
	})
}

func TestTrees(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	w.claimed(naming("", "prj_1", "old"))
	a := w.claimed(naming("", "prj_1", "c0ffee"))
	w.givesArchive(archive(t, file{name: "project/site.yml", text: "- hosts: all\n", mode: 0o666},
		file{name: "roles/r/tasks/main.yml", text: "[]"}))
	dir := filepath.Join(t.TempDir(), "project")
	deps, err := w.Tree(t.Context(), "prj_1", "c0ffee", dir)
	if err != nil || deps != (catalog.Deps{Roles: dir + ".roles"}) {
		t.Fatalf("%+v %v", deps, err)
	}
	for path, want := range map[string]string{dir + "/site.yml": "- hosts: all\n",
		deps.Roles + "/r/tasks/main.yml": "[]"} {
		if raw, err := os.ReadFile(path); err != nil || string(raw) != want {
			t.Errorf("%s: %q %v", path, raw, err)
		}
	}
	if c := w.fake.calls("/project"); len(c) != 1 || c[0].path != "/relay/v1/runs/"+a.Lease.RunID+"/project" {
		t.Errorf("asked with %v", c)
	}
	if _, err := w.Tree(t.Context(), "prj_1", "newer", dir+"2"); !runs.LeaseLost.Is(err) {
		t.Errorf("a commit that no run names: %v", err)
	}
	if _, err := w.Tree(t.Context(), "prj_1", "c0ffee", dir); err == nil {
		t.Error("a directory that is there is taken")
	}
	if _, err := os.Stat(dir + "/site.yml"); err != nil {
		t.Errorf("what was there is gone: %v", err)
	}
}

// installer notes what it is to install.
type installer struct {
	got   catalog.Repository
	fails error
}

func (i *installer) Install(_ context.Context, r catalog.Repository, tree string) (catalog.Deps, error) {
	i.got = r
	return catalog.Deps{Roles: filepath.Base(tree)}, i.fails
}

// TestRequirementsAreInstalled installs what the server leaves to the worker, with the login of its grant. A claim says
// whether the worker does so.
func TestRequirementsAreInstalled(t *testing.T) {
	t.Parallel()
	want := catalog.Repository{ProjectID: "prj_1", URL: "https://git.example/a", Login: catalog.Login{Username: "u",
		Password: "p", Key: "k"}}
	for name, c := range map[string]struct {
		by     *installer
		failed bool
	}{"an installer": {&installer{}, false}, "one that fails": {&installer{fails: catalog.SyncFailed.New("no")}, true},
		"none": {nil, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, func(config *relayclient.Config) {
				if c.by != nil {
					config.Installer = c.by
				}
			})
			w.fake.grant = func(g *execution.RelayGrant) { g.Requirements = execution.NewRelayRequirements(&want) }
			w.claimed(naming("", "prj_1", "c0ffee"))
			var sent execution.RelayClaim
			w.must(json.Unmarshal(w.fake.calls("/claim")[0].body, &sent))
			if sent.Worker.Installs != (c.by != nil) {
				t.Errorf("the claim says %+v", sent.Worker)
			}
			w.givesArchive(archive(t, file{name: "project/site.yml", text: "a"}))
			dir := filepath.Join(t.TempDir(), "project")
			deps, err := w.Tree(t.Context(), "prj_1", "c0ffee", dir)
			if c.failed != catalog.SyncFailed.Is(err) || !c.failed && deps.Roles != "project" {
				t.Errorf("%v %v", deps, err)
			}
			if c.by != nil {
				if d := cmp.Diff(want, c.by.got); d != "" {
					t.Error(d)
				}
			}
			if _, err := os.Stat(dir); (err == nil) == c.failed {
				t.Errorf("the tree: %v", err)
			}
		})
	}
}

func TestTreesThatCannotBeHad(t *testing.T) {
	t.Parallel()
	whole := archive(t, file{name: "project/a", text: strings.Repeat("x", 100_000)}, file{name: "roles/b", text: "b"})
	for name, c := range map[string]struct {
		give func(rw http.ResponseWriter)
		kind fault.Kind
		code fault.Code
	}{
		"no project":     {problemReply(404, catalog.ProjectNotFound.Name).give, fault.NotFound, catalog.ProjectNotFound},
		"no commit":      {problemReply(404, catalog.CommitNotFound.Name).give, fault.NotFound, catalog.CommitNotFound},
		"no sync":        {problemReply(409, catalog.SyncFailed.Name).give, fault.Conflict, catalog.SyncFailed},
		"lost":           {problemReply(409, runs.LeaseLost.Name).give, fault.Conflict, runs.LeaseLost},
		"away":           {reply{502, "text/html", page}.give, fault.Unavailable, fault.Code{}},
		"a page":         {reply{200, "text/html", page}.give, fault.Unavailable, fault.Code{}},
		"cut":            {cutAfter(whole, 50_000), fault.Unavailable, fault.Code{}},
		"cut behind one": {cutAfter(whole, 512+100_352), fault.Unavailable, fault.Code{}},
		"short": {reply{200, "application/x-tar", string(whole[:len(whole)-1024])}.give, fault.Unavailable,
			fault.Code{}},
		"no archive": {reply{200, "application/x-tar", strings.Repeat("x", 2048)}.give, fault.Unavailable, fault.Code{}},
		"a way out": {reply{200, "application/x-tar", string(archive(t, file{name: "project/../x"}))}.give, fault.Conflict,
			catalog.SyncFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, nil)
			w.claimed(naming("", "prj_1", "c0ffee"))
			w.gives(c.give)
			base := t.TempDir()
			deps, err := w.Tree(t.Context(), "prj_1", "c0ffee", filepath.Join(base, "project"))
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != c.kind || c.code.Name != "" && !c.code.Is(err) || deps != (catalog.Deps{}) {
				t.Errorf("%+v %v", deps, err)
			}
			if left, err := os.ReadDir(base); err != nil || len(left) != 0 {
				t.Errorf("left are %v %v", left, err)
			}
		})
	}
}

// cutAfter gives the beginning of an archive and then cuts the connection.
func cutAfter(raw []byte, n int) func(http.ResponseWriter) {
	return func(rw http.ResponseWriter) {
		rw.Header().Set("Content-Type", "application/x-tar")
		_, _ = rw.Write(raw[:n])
		rw.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// A tree whose caller cancels leaves nothing.
func TestATreeThatIsAbandoned(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	w.claimed(naming("", "prj_1", "c0ffee"))
	stuck := make(chan struct{})
	defer close(stuck)
	w.gives(func(rw http.ResponseWriter) {
		rw.Header().Set("Content-Type", "application/x-tar")
		_, _ = rw.Write(archive(t, file{name: "project/a", text: strings.Repeat("x", 100_000)})[:70_000])
		rw.(http.Flusher).Flush()
		<-stuck
	})
	base := t.TempDir()
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := w.Tree(ctx, "prj_1", "c0ffee", filepath.Join(base, "project"))
		done <- err
	}()
	waittest.Eventually(t, 20*time.Second, "nothing is unpacked", func() bool {
		info, err := os.Stat(filepath.Join(base, "project", "a"))
		return err == nil && info.Size() > 0
	})
	cancel()
	if err := <-done; !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
	if left, err := os.ReadDir(base); err != nil || len(left) != 0 {
		t.Errorf("left are %v %v", fmt.Sprint(left), err)
	}
}
