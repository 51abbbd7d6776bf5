package project

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/ports/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture contains a store of projects, a clock, a unit of work and a repository that never responds while it hangs.
type fixture struct {
	catalog.ProjectStore
	catalog.Checkouts

	mu      sync.Mutex
	noted   []string
	hangs   bool
	fetches int
	stored  string // the commit
	here    []string
	deleted map[string]bool
	removed []string
}

func (w *fixture) Mirrored(context.Context) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.here), nil
}

func (w *fixture) Forget(_ context.Context, id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.removed = append(w.removed, id)
	w.here = slices.DeleteFunc(w.here, func(x string) bool { return x == id })
	return nil
}

func (w *fixture) ProjectByID(_ context.Context, id string) (catalog.Project, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deleted[id] {
		return catalog.Project{}, catalog.ProjectNotFound.New("no project %s", id)
	}
	p := catalog.Project{RepoURL: "https://git.example.com/a", Commit: w.stored}
	p.ID = id
	return p, nil
}

func (w *fixture) NoteSync(_ context.Context, id string, r catalog.SyncResult) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noted = append(w.noted, fmt.Sprintf("%s %s %s", id, r.Commit, r.Failure))
	return nil
}

func (w *fixture) Do(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }

func (w *fixture) Now() time.Time { return time.Now() }

func (w *fixture) Fetch(ctx context.Context, _ catalog.Repository) (string, error) {
	w.mu.Lock()
	w.fetches++
	hangs := w.hangs
	w.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return "c1", nil
}

func (*fixture) Playbooks(context.Context, catalog.Repository, string) (map[string][]byte, []string, error) {
	return nil, nil, nil
}

func made(w *fixture) *Mirror {
	return NewMirror(w, w, slog.New(slog.DiscardHandler), w, w, nil, false)
}

// TestPinIsBounded checks that a run waits 20 seconds for a hanging repository. The fetch itself continues and fails
// after two minutes.
func TestPinIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{hangs: true, stored: "c0"}
		m := made(w)
		begin := time.Now()
		commit, stale, err := m.Pin(t.Context(), "p", false)
		if commit != "c0" || stale != "the repository did not answer in time" || err != nil || time.Since(begin) != pinTime {
			t.Error(commit, stale, err, time.Since(begin))
		}
		w.mu.Lock()
		w.stored = ""
		w.mu.Unlock()
		if _, _, err := m.Pin(t.Context(), "p", false); !catalog.SyncFailed.Is(err) {
			t.Error(err)
		}
		found, err := m.fetchProject(t.Context(), "p")
		if err != nil || found.Failure != "the repository did not answer within 120 seconds" ||
			time.Since(begin) != catalog.SyncLife || w.fetches != 1 {
			t.Error(found, err, time.Since(begin), w.fetches)
		}
		if len(w.noted) != 1 || w.noted[0] != "p  "+found.Failure {
			t.Errorf("%q", w.noted)
		}
		m.Close()
	})
}

// TestTogether checks that callers during a fetch get its result.
func TestTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many = 50
		w := &fixture{hangs: true}
		m := made(w)
		var work sync.WaitGroup
		for range many {
			work.Go(func() {
				if found, err := m.fetchProject(t.Context(), "p"); err != nil || found.Failure == "" {
					t.Error(found, err)
				}
			})
		}
		work.Wait()
		if w.fetches != 1 || len(w.noted) != 0 {
			t.Errorf("%d fetches, noted %q", w.fetches, w.noted)
		}
		m.Close()
	})
}

// TestQueueIsBounded checks that a full queue drops projects, and that two loops fetch the waiting ones.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{hangs: true}
		m := made(w)
		for i := range 2 * maxQueued {
			m.enqueue(fmt.Sprint(i))
		}
		if len(m.queue) != maxQueued {
			t.Errorf("%d wait", len(m.queue))
		}
		m.Loops().Start()
		synctest.Wait()
		if w.fetches != workers {
			t.Errorf("%d fetches at once", w.fetches)
		}
		if err := m.Loops().Stop(t.Context()); err != nil {
			t.Error(err)
		}
		m.Close()
		if len(w.noted) != 0 {
			t.Errorf("noted of what was cut short: %q", w.noted)
		}
		if _, err := m.fetchProject(t.Context(), "p"); err == nil {
			t.Error("something is fetched after the end")
		}
	})
}

// TestFetchesAreForgotten checks that the number of kept results does not grow with the projects.
func TestFetchesAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := made(&fixture{})
		for i := range maxRemembered {
			if _, _, err := m.Pin(t.Context(), fmt.Sprint(i), false); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(freshTime)
		if _, _, err := m.Pin(t.Context(), "one more", false); err != nil || len(m.fetched) != 1 {
			t.Error(err, len(m.fetched))
		}
		m.Close()
	})
}

// TestAFreshPinFetches checks that a fresh pin, as after a push, accepts neither a fetch of the last seconds nor an
// active one.
func TestAFreshPinFetches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{}
		m := made(w)
		pin := func(fresh bool, fetches int) {
			t.Helper()
			if commit, stale, err := m.Pin(t.Context(), "p", fresh); commit != "c1" || stale != "" || err != nil ||
				w.fetches != fetches {
				t.Errorf("%q %q %v after %d fetches, want %d", commit, stale, err, w.fetches, fetches)
			}
		}
		pin(false, 1)
		pin(false, 1)
		pin(true, 2)
		pin(true, 3)
		w.mu.Lock()
		w.hangs = true
		w.mu.Unlock()
		under, stop := context.WithCancel(t.Context())
		defer stop()
		var work sync.WaitGroup
		work.Go(func() { _, _ = m.fetchProject(under, "p") }) // the fetch ends after two minutes
		synctest.Wait()
		w.mu.Lock()
		w.hangs, w.stored = false, "c0"
		w.mu.Unlock()
		if commit, stale, err := m.Pin(t.Context(), "p", true); commit != "c0" || stale == "" || err != nil {
			t.Error(commit, stale, err)
		}
		stop()
		work.Wait()
		m.Close()
	})
}

// TestDeletedProjects checks that the mirror of a project that another server deleted is removed at the start or by the
// next search.
func TestDeletedProjects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{here: []string{"a", "b", "c"}, deleted: map[string]bool{"b": true}}
		removal := made(w).Removal()
		removal.Start()
		synctest.Wait()
		if !slices.Equal(w.removed, []string{"b"}) {
			t.Errorf("removed %q", w.removed)
		}
		w.mu.Lock()
		w.deleted["c"] = true
		w.mu.Unlock()
		time.Sleep(removalEvery)
		synctest.Wait()
		if !slices.Equal(w.removed, []string{"b", "c"}) || !slices.Equal(w.here, []string{"a"}) {
			t.Errorf("removed %q, left %q", w.removed, w.here)
		}
		if err := removal.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		w.here = append(w.here, "b")
		worker := made(w) // fetches nothing by itself
		removal = worker.Removal()
		removal.Start()
		worker.enqueue("a")
		synctest.Wait()
		if !slices.Equal(w.here, []string{"a"}) || w.fetches != 0 {
			t.Errorf("a worker leaves %q after %d fetches", w.here, w.fetches)
		}
		if err := removal.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		worker.Close()
	})
}
