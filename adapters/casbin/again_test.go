package casbin

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
)

// back sets the store to an earlier version with other rights, like a restored backup.
func (w *rightsStore) back(version int64, objects ...identity.ObjectRights) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version, w.oldest, w.changes = version, 0, nil
	w.objects = map[string]identity.ObjectRights{}
	for _, o := range objects {
		w.objects[o.Object] = o
	}
}

// TestEveryDecisionReachesItsCallersVersion decides with each role without reading the index; then a caller with an
// older version, such as the follower of a stream, is decided by the same rights.
func TestEveryDecisionReachesItsCallersVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		ask  func(a *Authorizer, p identity.Principal) error
		role identity.Role
	}{
		{"a kind", func(a *Authorizer, p identity.Principal) error {
			return a.Authorize(t.Context(), p, identity.Need{Kind: "run", Act: "read"})
		}, identity.Viewer},
		{"an admin", func(a *Authorizer, p identity.Principal) error {
			return a.Authorize(t.Context(), p, use("prj_1"))
		}, identity.Admin},
		{"a list", func(a *Authorizer, p identity.Principal) error {
			_, err := a.Scope(t.Context(), p)
			return err
		}, identity.Operator},
		{"an admin's list", func(a *Authorizer, p identity.Principal) error {
			_, err := a.Scope(t.Context(), p)
			return err
		}, identity.Admin},
	} {
		w := newStore()
		v := w.put(granted("prj_1", "", "user:usr_1", "use"))
		a, old := setup(t, Config{}, w), as("usr_1", identity.Viewer, v)
		if err := a.Authorize(t.Context(), old, use("prj_1")); err != nil {
			t.Fatal(err)
		}
		later := w.put(granted("prj_1", "", "user:usr_2", "use"))
		if err := c.ask(a, as("usr_3", c.role, later)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := a.Authorize(t.Context(), old, use("prj_1")); !identity.NotAllowed.Is(err) {
			t.Errorf("%s: the right that was taken back still holds: %v", c.name, err)
		}
		asked(t, w, 1, 2) // for the changes, and whether the store still has the version
	}
}

// TestAStoreThatKnowsLessReplacesTheIndex restores an old state while a server runs.
func TestAStoreThatKnowsLessReplacesTheIndex(t *testing.T) {
	t.Parallel()
	w := newStore()
	first := w.put(granted("prj_1", "", "user:usr_1", "use"))
	w.put(granted("prj_2", "", "user:usr_1", "manage"))
	v := w.put(granted("prj_1", "", "user:usr_2", "use"))
	a := setup(t, Config{}, w)
	if l := best(t, a, as("usr_2", identity.Operator, v), "prj_1"); l != access.Use {
		t.Fatal(l)
	}
	w.back(first, granted("prj_1", "", "user:usr_1", "use"))
	if l := best(t, a, as("usr_2", identity.Operator, first), "prj_1"); l != access.None {
		t.Errorf("who has no grant any more may %s", l)
	}
	if l := best(t, a, as("usr_1", identity.Operator, first), "prj_1"); l != access.Use {
		t.Errorf("who has it again may %q", l)
	}
	if l := best(t, a, as("usr_9", identity.Operator, first), "prj_2"); l != access.Use {
		t.Errorf("what is not restricted any more gives %q", l)
	}
	asked(t, w, 2, 1)
	v = w.put(granted("prj_1", "", "user:usr_3", "use"))
	if l := best(t, a, as("usr_3", identity.Operator, v), "prj_1"); l != access.Use {
		t.Errorf("what changed since gives %q", l)
	}
	asked(t, w, 2, 2)
}

// TestARaceCostsOneQuestion uses versions that were read before another caller updated the index.
func TestARaceCostsOneQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newStore()
		first := w.put(granted("prj_1", "", "user:usr_1", "use"))
		second := w.put(granted("prj_2", "", "user:usr_1", "use"))
		a := setup(t, Config{}, w)
		ask := func(version int64) {
			t.Helper()
			if err := a.Authorize(t.Context(), as("usr_1", identity.Viewer, version), use("prj_1")); err != nil {
				t.Fatal(err)
			}
		}
		ask(second)
		third := w.put(granted("prj_2", "", "user:usr_2", "use"))
		ask(third)
		asked(t, w, 1, 1)
		for range 1000 {
			ask(second) // was the newest version until now
		}
		asked(t, w, 1, 2)
		for range 1000 {
			ask(first)
			ask(second)
			ask(third)
		}
		asked(t, w, 1, 3)
		time.Sleep(confirmedFor)
		for range 1000 {
			ask(second)
		}
		asked(t, w, 1, 4)
	})
}

// TestAStoreThatIsBehindIsNoticedInARace: callers of many versions decide while the store goes back now and then; at
// the end each decision follows the store's state.
func TestAStoreThatIsBehindIsNoticedInARace(t *testing.T) {
	t.Parallel()
	w := newStore()
	a := setup(t, Config{}, w)
	for round := range 50 {
		var last int64
		for i := range 10 {
			last = w.put(granted("prj_1", "", fmt.Sprintf("user:usr_%d", i), "use"))
		}
		var wg sync.WaitGroup
		for i := range int64(4) {
			wg.Go(func() {
				if _, err := a.Scope(t.Context(), as("usr_1", identity.Viewer, last-i)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		w.back(last-9, granted("prj_1", "", "user:usr_0", "use"))
		for range 4 {
			wg.Go(func() {
				if l := best(t, a, as("usr_0", identity.Viewer, last-9), "prj_1"); l != access.Use {
					t.Errorf("round %d: usr_0 may %q", round, l)
				}
			})
		}
		wg.Wait()
	}
}
