package identitytest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/identity"
)

func (e *env) admins(t *testing.T) []string {
	t.Helper()
	var out []string
	e.must(t, func(ctx context.Context) error {
		var err error
		out, err = e.Accounts.LockAdmins(ctx)
		return err
	})
	slices.Sort(out)
	return out
}

func adminsListed(t *testing.T, e *env) {
	if got := e.admins(t); len(got) != 0 {
		t.Errorf("a fresh store has the admins %v", got)
	}
	e.addAccount(t, asRole(identity.Viewer))
	e.addAccount(t, asRole(identity.Operator))
	a, b := e.addAccount(t, asRole(identity.Admin)), e.addAccount(t, asRole(identity.Admin))
	e.addOrg(t, e.addAccount(t).ID) // an organization's admin is no admin of the install
	same(t, "admins", []string{a.ID, b.ID}, e.admins(t))
	a.Role, a.Revision = identity.Viewer, 2
	e.must(t, func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, a) })
	same(t, "after a change of role", []string{b.ID}, e.admins(t))
	e.must(t, func(ctx context.Context) error { return e.Accounts.DeleteAccount(ctx, b.ID) })
	if got := e.admins(t); len(got) != 0 {
		t.Errorf("after the last one left there are %v", got)
	}
}

// adminsLocked: while a unit holds the lock, no account becomes an admin and no admin loses the role.
func adminsLocked(t *testing.T, e *env) {
	first, second := e.addAccount(t, asRole(identity.Admin)), e.addAccount(t, asRole(identity.Admin))
	plain, added := e.addAccount(t), e.account(asRole(identity.Admin))
	plain.Role, plain.Revision = identity.Admin, 2
	first.Role, first.Revision = identity.Viewer, 2
	for _, c := range []struct {
		name string
		fn   func(ctx context.Context) error
	}{
		{"another lock", func(ctx context.Context) error { _, err := e.Accounts.LockAdmins(ctx); return err }},
		{"a new admin", func(ctx context.Context) error { return e.Accounts.InsertAccount(ctx, added, "") }},
		{"a promotion", func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, plain) }},
		{"a demotion", func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, first) }},
		{"a deletion", func(ctx context.Context) error { return e.Accounts.DeleteAccount(ctx, second.ID) }},
	} {
		e.blocked(t, c.name, c.fn)
	}
	same(t, "admins in the end", []string{plain.ID, added.ID}, e.admins(t))
}

// blocked holds the lock for a while and fails the test if fn, in its own unit, ends earlier.
func (e *env) blocked(t *testing.T, what string, fn func(ctx context.Context) error) {
	t.Helper()
	held, done := make(chan struct{}), make(chan error, 1)
	go func() {
		<-held
		done <- e.Unit.Do(t.Context(), fn)
	}()
	var once sync.Once
	e.must(t, func(ctx context.Context) error {
		before, err := e.Accounts.LockAdmins(ctx)
		once.Do(func() { close(held) })
		if err != nil {
			return err
		}
		select {
		case err := <-done:
			t.Errorf("%s did not wait for the lock (%v)", what, err)
			done <- err
		case <-time.After(40 * time.Millisecond):
		}
		after, err := e.Accounts.LockAdmins(ctx)
		slices.Sort(before)
		slices.Sort(after)
		same(t, what+": the admins under the lock", before, after)
		return err
	})
	if err := <-done; err != nil {
		t.Errorf("%s, after the lock: %v", what, err)
	}
}

// leave removes an admin, or changes its role, if another admin stays.
func (e *env) leave(ctx context.Context, id string, remove bool) error {
	admins, err := e.Accounts.LockAdmins(ctx)
	if err != nil {
		return err
	}
	if len(admins) < 2 {
		return identity.LastAdmin.New("the last admin stays")
	}
	if remove {
		return e.Accounts.DeleteAccount(ctx, id)
	}
	a, err := e.Accounts.AccountByID(ctx, id)
	if err != nil {
		return err
	}
	a.Role = identity.Viewer
	a.Revision++
	return e.Accounts.UpdateAccount(ctx, a)
}

func adminsRace(t *testing.T, e *env) {
	pair := []identity.Account{e.addAccount(t, asRole(identity.Admin)), e.addAccount(t, asRole(identity.Admin))}
	for range 12 {
		won := wins(t, 2, identity.LastAdmin, func(i int) error {
			return e.Unit.Do(t.Context(), func(ctx context.Context) error { return e.leave(ctx, pair[i].ID, false) })
		})
		left := e.admins(t)
		if won != 1 || len(left) != 1 {
			t.Fatalf("%d left, and the admins are %v", won, left)
		}
		for _, a := range pair {
			if a = e.getAccount(t, a.ID); a.Role == identity.Admin {
				continue
			}
			a.Role = identity.Admin
			a.Revision++
			e.must(t, func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, a) })
		}
	}
}

func adminsDelete(t *testing.T, e *env) {
	last := e.addAccount(t, asRole(identity.Admin)).ID
	for range 8 {
		pair := []string{last, e.addAccount(t, asRole(identity.Admin)).ID}
		won := wins(t, 2, identity.LastAdmin, func(i int) error {
			return e.Unit.Do(t.Context(), func(ctx context.Context) error { return e.leave(ctx, pair[1-i], i == 0) })
		})
		left := e.admins(t)
		if won != 1 || len(left) != 1 {
			t.Fatalf("%d left, and the admins are %v", won, left)
		}
		last = left[0]
	}
}
