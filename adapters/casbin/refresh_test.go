package casbin

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

func use(name string) identity.Need {
	return identity.Need{Kind: identity.KindOf(name), Act: "use", Object: name}
}

// asked compares the number of reads of the store with the expected one.
func asked(t *testing.T, w *rightsStore, loads, catches int64) {
	t.Helper()
	if l, c := w.loads.Load(), w.catches.Load(); l != loads || c != catches {
		t.Errorf("%d times for everything and %d times for what changed, not %d and %d", l, c, loads, catches)
	}
}

func TestReadsAtFirstNeedAndThenWhatChanged(t *testing.T) {
	t.Parallel()
	w := newStore()
	v := w.put(granted("prj_1", "", "user:usr_1", "use"))
	a := setup(t, Config{}, w)
	asked(t, w, 0, 0)
	if err := a.Authorize(t.Context(), as("usr_1", none, v), use("prj_1")); !identity.NotAllowed.Is(err) {
		t.Error(err)
	}
	asked(t, w, 0, 0) // a caller without a role has no rights
	for range 3 {
		if err := a.Authorize(t.Context(), as("usr_1", identity.Viewer, v), use("prj_1")); err != nil {
			t.Error(err)
		}
	}
	asked(t, w, 1, 0)

	later := w.put(granted("prj_1", "", "user:usr_2", "use"))
	if err := a.Authorize(t.Context(), as("usr_1", identity.Viewer, v), use("prj_1")); err != nil {
		t.Error(err) // no caller has a newer version
	}
	asked(t, w, 1, 0)
	for range 3 {
		if err := a.Authorize(t.Context(), as("usr_1", identity.Viewer, later), use("prj_1")); !identity.NotAllowed.Is(err) {
			t.Error(err)
		}
		if err := a.Authorize(t.Context(), as("usr_2", identity.Viewer, v), use("prj_1")); err != nil {
			t.Error(err)
		}
	}
	asked(t, w, 1, 2) // the store still has the later version: one read serves all callers with older ones
}

func TestAnInstallWithoutRightsIsReadOnce(t *testing.T) {
	t.Parallel()
	w := newStore()
	a := setup(t, Config{}, w)
	for range 3 {
		if l := best(t, a, as("usr_1", identity.Operator, 0), "prj_1"); l != access.Use {
			t.Error(l)
		}
	}
	asked(t, w, 1, 0)
}

func TestForgottenChangesReloadEverything(t *testing.T) {
	t.Parallel()
	w := newStore()
	w.put(granted("prj_1", "", "user:usr_1", "use"))
	v := w.put(granted("prj_2", "", "user:usr_1", "use"))
	a := setup(t, Config{}, w)
	if err := a.Authorize(t.Context(), as("usr_1", identity.Viewer, v), use("prj_1")); err != nil {
		t.Error(err)
	}
	v = w.put(granted("prj_1", "", "user:usr_2", "use"))
	w.forget()
	delete(w.objects, "prj_2")
	if err := a.Authorize(t.Context(), as("usr_1", identity.Viewer, v), use("prj_1")); !identity.NotAllowed.Is(err) {
		t.Error(err)
	}
	asked(t, w, 2, 1)
	if l := best(t, a, as("usr_1", identity.Viewer, v), "prj_2"); l != access.Read {
		t.Errorf("what is no longer stored gives %q", l)
	}
}

// TestFailingStoreRefuses: no decision uses outdated rights, and the next caller tries again.
func TestFailingStoreRefuses(t *testing.T) {
	t.Parallel()
	w := newStore()
	v := w.put(granted("prj_1", "", "user:usr_1", "use"))
	a := setup(t, Config{}, w)
	refused := func(version int64) {
		t.Helper()
		for _, n := range []identity.Need{use("prj_1"), use("prj_9"), {Kind: "project", Act: "create", Org: "org_1"},
			{Kind: "run", Act: "read"}} {
			if err := a.Authorize(t.Context(), as("usr_1", identity.Operator, version), n); !fault.Is(err, fault.Unavailable) {
				t.Errorf("%+v: %v", n, err)
			}
		}
		s, err := a.Scope(t.Context(), as("usr_1", identity.Viewer, version))
		if !fault.Is(err, fault.Unavailable) || s.All || s.Subjects != nil {
			t.Errorf("%+v, %v", s, err)
		}
	}
	broken := errors.New("the disk is gone")
	w.breaks(broken)
	refused(v)
	if err := a.Authorize(t.Context(), as("usr_1", identity.Viewer, v), use("prj_1")); !errors.Is(err, broken) {
		t.Errorf("the cause is lost: %v", err)
	}
	w.breaks(nil)
	if err := a.Authorize(t.Context(), as("usr_1", identity.Viewer, v), use("prj_1")); err != nil {
		t.Error(err)
	}
	w.breaks(broken)
	later := w.put(granted("prj_1", ""))
	refused(later)
	if err := a.Authorize(t.Context(), as("usr_1", identity.Viewer, v), use("prj_1")); err != nil {
		t.Errorf("what is known well enough is decided: %v", err)
	}
	w.breaks(nil)
	if err := a.Authorize(t.Context(), as("usr_1", identity.Viewer, later), use("prj_1")); !identity.NotAllowed.Is(err) {
		t.Error(err)
	}
	refused(later + 1) // a caller with a version that the store does not have
}

// TestOneRefreshForMany: many concurrent callers share one read of the store.
func TestOneRefreshForMany(t *testing.T) {
	t.Parallel()
	w := newStore()
	v := w.put(granted("prj_1", "", "user:usr_1", "use"))
	const callers = 50
	var waiting sync.WaitGroup
	waiting.Add(callers)
	w.during = func(context.Context) { waiting.Wait() }
	a := setup(t, Config{}, w)
	round := func(id string) {
		t.Helper()
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				a.refresher.join(v) // all callers wait before the store answers
				waiting.Done()
				if err := a.Authorize(t.Context(), as(id, identity.Viewer, v), use("prj_1")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	round("usr_1")
	asked(t, w, 1, 0)
	v = w.put(granted("prj_1", "", "user:usr_2", "use"))
	waiting.Add(callers)
	round("usr_2")
	asked(t, w, 1, 1)
}

// TestRefreshThatBeganTooEarly makes a change while the store answers: a caller with the new version waits for the
// next answer.
func TestRefreshThatBeganTooEarly(t *testing.T) {
	t.Parallel()
	w := newStore()
	v := w.put(granted("prj_1", "", "user:usr_1", "use"))
	answered, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.during = func(context.Context) { once.Do(func() { close(answered); <-proceed }) }
	a := setup(t, Config{}, w)
	var wg sync.WaitGroup
	wg.Go(func() {
		// The second refresh may end before this decision, and newer rights are right as well.
		if err := a.Authorize(t.Context(), as("usr_1", identity.Viewer, v), use("prj_1")); err != nil &&
			!identity.NotAllowed.Is(err) {
			t.Error(err)
		}
	})
	<-answered
	later := w.put(granted("prj_1", "", "user:usr_2", "use"))
	if a.refresher.join(later) == nil {
		t.Error("nothing is under way")
	}
	wg.Go(func() {
		if err := a.Authorize(t.Context(), as("usr_1", identity.Viewer, later), use("prj_1")); !identity.NotAllowed.Is(err) {
			t.Errorf("decided by rights that are too old: %v", err)
		}
	})
	close(proceed)
	wg.Wait()
	// The first caller may have an older version than the index and ask once more whether the store still has that.
	if l, c := w.loads.Load(), w.catches.Load(); l != 1 || c < 1 || c > 2 {
		t.Errorf("%d times for everything and %d times for what changed", l, c)
	}
}

// TestCallersEndAlone cancels one of two callers: it is refused at once, and the other one gets its decision.
func TestCallersEndAlone(t *testing.T) {
	t.Parallel()
	type mark struct{}
	w := newStore()
	v := w.put(granted("prj_1", "", "user:usr_1", "use"))
	begun, proceed := make(chan struct{}), make(chan struct{})
	w.during = func(ctx context.Context) {
		close(begun)
		<-proceed
		if ctx.Value(mark{}) != nil || ctx.Err() != nil {
			t.Error("the store was asked within a caller's context")
		}
	}
	a := setup(t, Config{}, w)
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), mark{}, true))
	var wg sync.WaitGroup
	wg.Go(func() {
		<-begun
		cancel()
	})
	err := a.Authorize(ctx, as("usr_1", identity.Viewer, v), use("prj_1"))
	if !fault.Is(err, fault.Unavailable) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	wg.Go(func() {
		if err := a.Authorize(t.Context(), as("usr_1", identity.Viewer, v), use("prj_1")); err != nil {
			t.Error(err)
		}
	})
	close(proceed)
	wg.Wait()
	asked(t, w, 1, 0)
}

// TestNoDecisionIsOlderThanItsCaller changes rights while many callers decide. A writer moves one grant from account
// to account; no caller with version v gets a decision by older rights.
func TestNoDecisionIsOlderThanItsCaller(t *testing.T) {
	t.Parallel()
	w := newStore()
	a := setup(t, Config{}, w)
	const changes = 400
	var last atomic.Int64
	last.Store(w.put(granted("prj_1", "", "user:usr_1", "manage")))
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range changes { // version n gives the object to usr_n and takes it from usr_n-1
			v := w.put(granted("prj_1", "", "user:usr_"+strconv.Itoa(i+2), "manage"))
			w.member(identity.UserRights{UserID: "usr_other", Teams: []string{"team_1"}})
			last.Store(v)
		}
	})
	for range 6 {
		wg.Go(func() {
			for seen := int64(0); seen < 2*changes; {
				seen = last.Load()
				gone := "usr_" + strconv.FormatInt((seen+1)/2-1, 10)
				if err := a.Authorize(t.Context(), as(gone, identity.Operator, seen), use("prj_1")); !identity.NotAllowed.Is(err) {
					t.Errorf("at version %d %s still may: %v", seen, gone, err)
				}
			}
		})
	}
	wg.Wait()
	if l := best(t, a, as("usr_"+strconv.Itoa(changes+1), identity.Operator, last.Load()), "prj_1"); l != access.Manage {
		t.Errorf("the last one may %q", l)
	}
}
