package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

func nth(n int) totalKey { return totalKey{byte(n), byte(n >> 8)} }

// TestTotalsAreOfOneVersion: cached totals have one version and a limited number.
func TestTotalsAreOfOneVersion(t *testing.T) {
	t.Parallel()
	var c totals
	want := func(version int64, key, n int, known bool) {
		t.Helper()
		if got, ok := c.get(version, nth(key)); ok != known || got != n {
			t.Errorf("version %d, key %d: %d, %t", version, key, got, ok)
		}
	}
	want(0, 1, 0, false)
	c.put(0, nth(1), 5)
	want(0, 1, 5, true)
	want(1, 1, 0, false)
	c.put(3, nth(2), 7)
	want(3, 2, 7, true)
	want(3, 1, 0, false)
	want(0, 1, 0, false)
	c.put(2, nth(1), 9) // counted for an outdated version
	want(2, 1, 0, false)
	want(3, 1, 0, false)
	want(3, 2, 7, true)
	for n := range 3 * maxTotals {
		c.put(3, nth(n), n)
		if len(c.known) > maxTotals {
			t.Fatalf("%d totals are kept", len(c.known))
		}
		want(3, n, n, true)
	}
	c.put(4, nth(1), 1)
	if len(c.known) != 1 {
		t.Errorf("%d totals of versions that are over are kept", len(c.known)-1)
	}
}

// TestScopesAreDistinct: keys differ even if the concatenated elements of two scopes are equal.
func TestScopesAreDistinct(t *testing.T) {
	t.Parallel()
	seen := map[totalKey]string{}
	for _, sc := range []access.Scope{
		{}, {All: true}, {Strict: true}, {Subjects: []string{"a"}}, {Orgs: []string{"a"}},
		{Subjects: []string{"a", "b"}}, {Subjects: []string{"a b"}},
		{Subjects: []string{"a\" \"b"}}, {Subjects: []string{"a"}, Orgs: []string{"b"}}, {Subjects: []string{"a", "", "b"}},
		{Subjects: []string{"a"}, Orgs: []string{"b", ""}}, {Subjects: []string{"a\x00b"}},
		{Subjects: []string{"a"}, Orgs: []string{"\x00b"}},
	} {
		for _, kind := range []string{identity.KindProject, identity.KindQueue} {
			k, name := keyOf(kind, sc), fmt.Sprintf("%s %#v", kind, sc)
			if other, ok := seen[k]; ok {
				t.Errorf("%s is taken for %s", name, other)
			}
			seen[k] = name
		}
	}
	if keyOf("x", access.Scope{Subjects: []string{"a", "b", "a"}}) != keyOf("x",
		access.Scope{Subjects: []string{"b", "a"}}) {
		t.Error("the order of subjects makes a difference")
	}
}

// TestTotalsAreCountedOnce: totals are counted once per version, again in each unit, and not cached after a failure.
func TestTotalsAreCountedOnce(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		s, counted := New(d), 0
		fails := error(nil)
		ask := func(ctx context.Context, within bool) error {
			_, err := s.totals.of(ctx, d.Read(ctx), within, "x", access.Scope{}, func() (int, error) {
				counted++
				return counted, fails
			})
			return err
		}
		want := func(what string, n int, err error) {
			t.Helper()
			if counted != n || !errors.Is(err, fails) {
				t.Errorf("%s: counted %d times, %v", what, counted, err)
			}
		}
		fails = errors.New("the disk is gone")
		want("a failure", 1, ask(t.Context(), false))
		fails = nil
		want("after a failure", 2, ask(t.Context(), false))
		want("again", 2, ask(t.Context(), false))
		err := d.Do(t.Context(), func(ctx context.Context) error {
			q, err := s.lockRights(ctx)
			if err != nil {
				return err
			}
			want("in a unit", 3, ask(ctx, true))
			return errors.Join(recordChange(ctx, q), ask(ctx, true))
		})
		want("in a unit, after a change", 4, err)
		want("after the unit", 5, ask(t.Context(), false))
		want("after the unit, again", 5, ask(t.Context(), false))
	})
}

// history contains the totals after each change of a writer.
type history struct {
	totals  []int
	begun   atomic.Int64 // how many changes may be visible
	applied atomic.Int64 // how many changes must be visible
}

// TestTotalsAreNeverStale reads concurrently while a writer adds and deletes grants: a read that starts after a commit
// includes it.
func TestTotalsAreNeverStale(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		const objects, readers = 14, 4
		s := New(d)
		me := identity.UserSubject("usr_1")
		names := make([]string, objects)
		h := &history{totals: []int{2}}
		err := d.Do(t.Context(), func(ctx context.Context) error {
			at := time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC)
			u := identity.User{ID: "usr_1", Username: "ann", Role: identity.Viewer, CreatedAt: at}
			if err := s.InsertAccount(ctx, identity.Account{User: u, UpdatedAt: at, Revision: 1}, ""); err != nil {
				return err
			}
			for i := range names {
				names[i] = template(i)
				if err := s.PutObject(ctx, identity.Object{ID: names[i]}); err != nil {
					return err
				}
			}
			_, one := s.InsertGrant(ctx, identity.Grant{ID: "grt_x", Subject: me, Object: names[0], Level: access.Read,
				CreatedAt: at})
			_, two := s.InsertGrant(ctx, identity.Grant{ID: "grt_y", Subject: me, Object: names[1], Level: access.Read,
				CreatedAt: at})
			return errors.Join(one, two)
		})
		if err != nil {
			t.Fatal(err)
		}
		var changes []func(ctx context.Context) error
		for i := 2; i < objects; i++ {
			g := identity.Grant{ID: fmt.Sprint("grt_", i), Subject: me, Object: names[i], Level: access.Use}
			g.CreatedAt = time.Unix(int64(i), 0)
			changes = append(changes, func(ctx context.Context) error { _, err := s.InsertGrant(ctx, g); return err })
			h.totals = append(h.totals, i+1)
		}
		for i := objects - 1; i > 1; i-- {
			changes = append(changes, func(ctx context.Context) error { return s.DeleteGrant(ctx, fmt.Sprint("grt_", i)) })
			h.totals = append(h.totals, i)
		}
		var wg sync.WaitGroup
		done := make(chan struct{})
		for range readers {
			wg.Go(func() { h.read(t, s, access.Scope{Subjects: []string{me}, Strict: true}, done) })
		}
		for _, change := range changes {
			h.begun.Add(1)
			if err := d.Do(t.Context(), change); err != nil {
				t.Error(err)
				break
			}
			h.applied.Add(1)
		}
		close(done)
		wg.Wait()
	})
}

// read reads totals until done is closed, and once more.
func (h *history) read(t *testing.T, s *Store, sc access.Scope, done <-chan struct{}) {
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
		}
		from := h.applied.Load()
		list, n, err := s.Readable(t.Context(), identity.KindTemplate, sc, page.Window{Limit: 1})
		to := h.begun.Load()
		if err != nil || len(list) != 1 {
			t.Errorf("%v, %v", list, err)
			return
		}
		if possible := h.totals[from : to+1]; !slices.Contains(possible, n) {
			t.Errorf("after %d of at most %d changes the total is %d, not one of %v", from, to, n, possible)
			return
		}
	}
}
