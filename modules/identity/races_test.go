package identity_test

import (
	"fmt"
	"sync"
	"testing"

	module "github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// admins returns how many admins there are.
func (b *bundle) admins() (n int) {
	b.t.Helper()
	list, _, err := b.Accounts.List(b.t.Context(), page.Window{})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, a := range list {
		if a.Role == identity.Admin {
			n++
		}
	}
	return n
}

// TestLastAdmin refuses to take the only one away, one call at a time.
func TestLastAdmin(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		root := b.account("root", identity.Admin)
		b.account("ann", identity.Operator)
		role, same := identity.Operator, identity.Admin
		if _, err := b.Accounts.Update(t.Context(), root.ID, 0,
			identity.AccountChange{Role: &role}); !identity.LastAdmin.Is(err) {
			t.Errorf("demoting: %v", err)
		}
		if err := b.Accounts.Delete(t.Context(), root.ID, 0); !identity.LastAdmin.Is(err) {
			t.Errorf("deleting: %v", err)
		}
		if _, err := b.Accounts.Update(t.Context(), root.ID, 0, identity.AccountChange{Role: &same}); err != nil {
			t.Errorf("staying: %v", err)
		}
		second := b.account("second", identity.Admin)
		if _, err := b.Accounts.Update(t.Context(), root.ID, 0, identity.AccountChange{Role: &role}); err != nil {
			t.Errorf("one of two: %v", err)
		}
		if err := b.Accounts.Delete(t.Context(), second.ID, 0); !identity.LastAdmin.Is(err) || b.admins() != 1 {
			t.Errorf("the other: %v", err)
		}
	})
}

// TestLastAdminRace lets eight callers delete and demote all admins at once, again and again: one always remains.
func TestLastAdminRace(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		role := identity.Viewer
		for round := range 10 {
			list, _, err := b.Accounts.List(t.Context(), page.Window{})
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, a := range list {
				if a.Role == identity.Admin {
					ids = append(ids, a.ID)
				}
			}
			for i := len(ids); i < 8; i++ {
				ids = append(ids, b.account(fmt.Sprintf("admin%d_%d", round, i), identity.Admin).ID)
			}
			var wg sync.WaitGroup
			for i, id := range ids {
				wg.Go(func() {
					var err error
					if i%2 == 0 {
						err = b.Accounts.Delete(t.Context(), id, 0)
					} else {
						_, err = b.Accounts.Update(t.Context(), id, 0, identity.AccountChange{Role: &role})
					}
					if err != nil && !identity.LastAdmin.Is(err) {
						t.Errorf("%v", err)
					}
				})
			}
			wg.Wait()
			if n := b.admins(); n != 1 {
				t.Fatalf("round %d leaves %d admins", round, n)
			}
		}
	})
}

// TestRevisionRace lets eight callers change one account with the revision that all of them read: one succeeds.
func TestRevisionRace(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u := b.account("ann", identity.Viewer)
		for revision := int64(1); revision <= 10; revision++ {
			var mu sync.Mutex
			changed := 0
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					_, err := b.Accounts.Update(t.Context(), u.ID, revision, identity.AccountChange{})
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						changed++
					} else if !identity.RevisionChanged.Is(err) {
						t.Errorf("%v", err)
					}
				})
			}
			wg.Wait()
			if changed != 1 {
				t.Fatalf("revision %d was changed %d times", revision, changed)
			}
		}
	})
}

// TestSessionsRace lets people sign in while the password changes: no session by the old one outlives the change.
func TestSessionsRace(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u := b.account("ann", identity.Viewer)
		old := secret
		for round := range 10 {
			next := identity.Password(fmt.Sprint("the password of round ", round))
			var mu sync.Mutex
			var bearers []string
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					s, err := b.SignIn.Login(b.from(fmt.Sprint("192.0.2.", i)), "ann", old)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						bearers = append(bearers, s.Secret)
					} else if !identity.BadLogin.Is(err) {
						t.Errorf("%v", err)
					}
				})
			}
			wg.Go(func() {
				if _, err := b.Accounts.Update(t.Context(), u.ID, 0, identity.AccountChange{Password: &next}); err != nil {
					t.Errorf("%v", err)
				}
			})
			wg.Wait()
			for _, bearer := range bearers {
				if b.valid(bearer) {
					t.Fatalf("round %d: a session of the old password lives on", round)
				}
			}
			old = next
		}
	})
}

// TestFirstSignInRace lets one person sign in for the first time from eight browsers at once.
func TestFirstSignInRace(t *testing.T) {
	cfg := module.Config{Rules: map[identity.Protocol]module.RoleRule{identity.OIDC: {Default: identity.Viewer}}}
	onEachEngine(t, cfg, func(t *testing.T, b *bundle) {
		other := setup(t, b.d, cfg) // a second server on the same database
		for round := range 5 {
			e := identity.External{Link: link(identity.OIDC, fmt.Sprint(round)), Username: fmt.Sprint("ann", round)}
			var mu sync.Mutex
			ids := map[string]int{}
			var wg sync.WaitGroup
			for i := range 8 {
				server := []*bundle{b, other}[i%2]
				wg.Go(func() {
					s, err := server.Federation.Admit(server.from("192.0.2.1"), e)
					if err != nil {
						t.Errorf("%v", err)
					}
					mu.Lock()
					defer mu.Unlock()
					ids[s.User.ID]++
				})
			}
			wg.Wait()
			if len(ids) != 1 {
				t.Errorf("round %d made the accounts %v", round, ids)
			}
		}
		if _, n, err := b.Accounts.List(t.Context(), page.Window{}); err != nil || n != 5 {
			t.Errorf("%d accounts, %v", n, err)
		}
	})
}
