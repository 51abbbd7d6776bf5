package identity_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

var epoch = time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC)

type fixture struct {
	*sqlidentity.Store
	d *db.DB
}

func (f fixture) do(t *testing.T, fn func(ctx context.Context) error) {
	t.Helper()
	if err := f.d.Do(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func each(t *testing.T, fn func(t *testing.T, f fixture)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) { fn(t, fixture{sqlidentity.New(d), d}) })
}

func (f fixture) account(t *testing.T, n int, r identity.Role) identity.Account {
	t.Helper()
	a := identity.Account{User: identity.User{ID: fmt.Sprint("usr_", n), Username: fmt.Sprint("user ", n), Role: r,
		CreatedAt: epoch}, UpdatedAt: epoch, Revision: 1}
	f.do(t, func(ctx context.Context) error { return f.InsertAccount(ctx, a, "") })
	return a
}

func (f fixture) version(t *testing.T) int64 {
	t.Helper()
	r, err := f.LoadRights(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r.Version
}

// TestVersionsCommitInTheirOrder: many units change rights while a reader follows; after it has read a version, no
// change of an older one appears.
func TestVersionsCommitInTheirOrder(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		u := f.account(t, 1, identity.Viewer)
		const writers, rounds = 6, 12
		version, seen := f.version(t), make(map[string]bool) // before the first writer: earlier changes are not followed
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for n := range rounds {
					g := identity.Grant{
						ID: fmt.Sprintf("grt_%d_%d", w, n), Subject: identity.UserSubject(u.ID),
						Object: access.Queue(fmt.Sprintf("q%d_%d", w, n)),
						Level:  access.Use, CreatedAt: epoch,
					}
					err := f.d.Do(t.Context(), func(ctx context.Context) error { _, err := f.InsertGrant(ctx, g); return err })
					if err != nil {
						t.Errorf("grant: %v", err)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { wg.Wait(); close(done) }()
		for over := false; !over; {
			select {
			case <-done:
				over = true
			default:
			}
			r, ok, err := f.RightsSince(t.Context(), version)
			if err != nil || !ok {
				t.Fatalf("since %d: %t, %v", version, ok, err)
			}
			for _, o := range r.Objects {
				if len(o.Grants) != 1 || !o.Restricted {
					t.Errorf("a change without its grant: %+v", o)
				}
				seen[o.Object] = true
			}
			version = r.Version
		}
		if len(seen) != writers*rounds || version != writers*rounds {
			t.Errorf("%d of %d changes were seen, up to version %d", len(seen), writers*rounds, version)
		}
	})
}

// TestOneUnitOfManyChanges: the unit increments the version for each change, and shows none before its end.
func TestOneUnitOfManyChanges(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		u := f.account(t, 1, identity.Viewer)
		f.do(t, func(ctx context.Context) error {
			for n := range 3 {
				g := identity.Grant{ID: fmt.Sprint("grt_", n), Subject: identity.UserSubject(u.ID), Object: access.Queue("a"),
					CreatedAt: epoch}
				g.Level = []access.Level{access.Read, access.Use, access.Manage}[n]
				if first, err := f.InsertGrant(ctx, g); err != nil || first != (n == 0) {
					return fmt.Errorf("grant %d: first is %t, %w", n, first, err)
				}
			}
			if v := f.version(t); v != 0 {
				t.Errorf("version %d is seen before the commit", v)
			}
			return nil
		})
		r, ok, err := f.RightsSince(t.Context(), 0)
		if err != nil || !ok || r.Version != 3 || len(r.Objects) != 1 || len(r.Objects[0].Grants) != 3 {
			t.Errorf("%+v, %t, %v", r, ok, err)
		}
	})
}

// TestNobodyRemembers: deleted changes, and versions that were never reached, as after a restored backup, give ok
// false.
func TestNobodyRemembers(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		u := f.account(t, 1, identity.Viewer)
		for n := range 5 {
			f.do(t, func(ctx context.Context) error {
				_, err := f.InsertGrant(ctx, identity.Grant{
					ID: fmt.Sprint("grt_", n), Subject: identity.UserSubject(u.ID), Object: access.Queue(fmt.Sprint(n)),
					Level: access.Read, CreatedAt: epoch,
				})
				return err
			})
		}
		for _, keep := range []int{9, 2, 4, -1} {
			f.do(t, func(ctx context.Context) error { return f.ForgetChanges(ctx, keep) })
			oldest := map[int]int64{9: 0, 2: 3, 4: 3, -1: 5}[keep]
			for version := range int64(8) {
				r, ok, err := f.RightsSince(t.Context(), version)
				if want := version >= oldest && version <= 5; err != nil || ok != want {
					t.Errorf("%d kept: since %d: %t, %v", keep, version, ok, err)
				} else if ok && (r.Version != 5 || len(r.Objects) != 5-int(version)) {
					t.Errorf("%d kept: since %d: %+v", keep, version, r)
				}
			}
		}
	})
}

// TestAnObjectThatComesBack: the object has its former grants, and was never less restricted in between.
func TestAnObjectThatComesBack(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		u := f.account(t, 1, identity.Viewer)
		o := identity.Object{ID: "tpl_a"}
		g := identity.Grant{ID: "grt_1", Subject: identity.UserSubject(u.ID), Object: o.ID, Level: access.Read,
			CreatedAt: epoch}
		f.do(t, func(ctx context.Context) error { return f.PutObject(ctx, o) })
		f.do(t, func(ctx context.Context) error { _, err := f.InsertGrant(ctx, g); return err })
		f.do(t, func(ctx context.Context) error { return f.RemoveObject(ctx, o.ID) })
		if _, err := f.GrantByID(t.Context(), g.ID); !identity.GrantNotFound.Is(err) {
			t.Errorf("a hidden grant: %v", err)
		}
		f.do(t, func(ctx context.Context) error { return f.PutObject(ctx, o) })
		if got, err := f.GrantByID(t.Context(), g.ID); err != nil || got != g {
			t.Errorf("the grant is %+v, %v", got, err)
		}
		r, err := f.LoadRights(t.Context())
		if err != nil || len(r.Objects) != 1 || !r.Objects[0].Restricted || len(r.Objects[0].Grants) != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// TestAQueueComesBackByBeingNamed: a new grant on a removed queue restores the queue with its former grants.
func TestAQueueComesBackByBeingNamed(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		u := f.account(t, 1, identity.Viewer)
		g := identity.Grant{ID: "grt_1", Subject: identity.UserSubject(u.ID), Object: access.Queue("q"), Level: access.Read,
			CreatedAt: epoch}
		f.do(t, func(ctx context.Context) error { _, err := f.InsertGrant(ctx, g); return err })
		f.do(t, func(ctx context.Context) error { return f.RemoveObject(ctx, g.Object) })
		h := g
		h.ID, h.Level = "grt_2", access.Use
		f.do(t, func(ctx context.Context) error {
			first, err := f.InsertGrant(ctx, h)
			if first {
				t.Error("the queue was restricted all the time")
			}
			return err
		})
		got, n, err := f.ListGrants(t.Context(), identity.GrantFilter{Object: g.Object}, page.Window{})
		if err != nil || n != 2 || len(got) != 2 {
			t.Errorf("%d grants: %+v, %v", n, got, err)
		}
	})
}

// TestAdminsAreHeld: demotions, promotions, deletions and new admins wait while a unit counts the admins.
func TestAdminsAreHeld(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		for n := range 8 {
			f.account(t, n, []identity.Role{identity.Admin, identity.Viewer}[n%2])
		}
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				err := f.d.Do(t.Context(), func(ctx context.Context) error { return f.swap(ctx, fmt.Sprint("usr_", n), n%4 == 0) })
				if err != nil {
					t.Errorf("account %d: %v", n, err)
				}
			})
		}
		wg.Wait()
		f.do(t, func(ctx context.Context) error {
			ids, err := f.LockAdmins(ctx)
			if len(ids) == 0 || !slices.IsSorted(ids) {
				t.Errorf("the admins are %v", ids)
			}
			return err
		})
	})
}

// swap makes every other account an admin and demotes or deletes an admin, unless it is the only one. The result of
// LockAdmins must stay valid to the end.
func (f fixture) swap(ctx context.Context, id string, remove bool) error {
	a, err := f.AccountByID(ctx, id)
	if err != nil {
		return err
	}
	if a.Role != identity.Admin {
		a.Role, a.Revision = identity.Admin, a.Revision+1
		return f.UpdateAccount(ctx, a)
	}
	before, err := f.LockAdmins(ctx)
	if err != nil || len(before) < 2 {
		return err
	}
	if remove {
		err = f.DeleteAccount(ctx, id)
	} else {
		a.Role, a.Revision = identity.Viewer, a.Revision+1
		err = f.UpdateAccount(ctx, a)
	}
	if err != nil {
		return err
	}
	after, err := f.LockAdmins(ctx)
	if err == nil && len(after) != len(before)-1 {
		err = fmt.Errorf("of %v there are %v left", before, after)
	}
	return err
}

// TestNoObjectIsLeftInAnOrganizationThatGoes deletes an organization while objects are moved into it.
func TestNoObjectIsLeftInAnOrganizationThatGoes(t *testing.T) {
	each(t, func(t *testing.T, f fixture) {
		for n := range 5 {
			org := identity.Org{ID: fmt.Sprint("org_", n), Name: fmt.Sprint("org ", n), CreatedAt: epoch}
			f.do(t, func(ctx context.Context) error { return f.InsertOrg(ctx, org) })
			var wg sync.WaitGroup
			var put, gone error
			wg.Go(func() {
				o := identity.Object{ID: fmt.Sprint("prj_", n), Org: org.ID}
				put = f.d.Do(t.Context(), func(ctx context.Context) error { return f.PutObject(ctx, o) })
			})
			wg.Go(func() {
				gone = f.d.Do(t.Context(), func(ctx context.Context) error { return f.DeleteOrg(ctx, org.ID) })
			})
			wg.Wait()
			won := put == nil && identity.OrgInUse.Is(gone) || gone == nil && identity.OrgNotFound.Is(put)
			if !won {
				t.Errorf("the object: %v, the organization: %v", put, gone)
			}
		}
	})
}
