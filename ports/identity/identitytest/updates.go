package identitytest

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

func updateReplaces(t *testing.T, e *env) {
	a := e.addAccount(t, named("before"), linked(link("old"), link("kept")))
	other := e.addAccount(t, linked(link("other")))
	change := func(want identity.Account) {
		t.Helper()
		sent := want
		sent.CreatedAt = at(time.Hour) // which the store ignores
		e.must(t, func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, sent) })
		same(t, "after the update", want, e.getAccount(t, a.ID))
	}
	next := a
	whole(&next)
	next.CreatedAt, next.Revision = a.CreatedAt, 2
	next.Identities = append(next.Identities, link("kept"))
	change(next)
	_, err := e.Callers.UserByLink(t.Context(), link("old"))
	wantFault(t, err, identity.UserNotFound)
	_, _, err = e.Callers.UserByName(t.Context(), "before")
	wantFault(t, err, identity.UserNotFound)

	bare := a
	bare.UpdatedAt, bare.Revision, bare.Identities, bare.Role = at(time.Minute), 3, nil, identity.Viewer
	change(bare)
	bare.Revision = 4 // and nothing else
	change(bare)
	same(t, "another account", other, e.getAccount(t, other.ID))
}

func updateRevision(t *testing.T, e *env) {
	a := e.addAccount(t)
	for revision := int64(2); revision < 5; revision++ {
		a.Revision, a.Role = revision, []identity.Role{identity.Viewer, identity.Admin}[revision%2]
		e.must(t, func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, a) })
	}
	for _, revision := range []int64{0, 1, 4, 6, 7, 1 << 40, -1} {
		stale := a
		stale.Revision, stale.Username = revision, "other"
		err := e.do(t, func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, stale) })
		if !fault.Is(err, fault.Stale) {
			t.Errorf("revision %d onto 4: %v", revision, err)
		}
	}
	same(t, "after refused updates", a, e.getAccount(t, a.ID))
}

// accountConfirmed: a confirmation is no change of the account, and a change leaves it.
func accountConfirmed(t *testing.T, e *env) {
	a := e.addAccount(t, linked(link("a")), func(a *identity.Account) { a.ConfirmedAt = at(time.Second) })
	same(t, "confirmed when it was made", a, e.getAccount(t, a.ID))
	a.ConfirmedAt = at(time.Hour)
	confirm := func(id string) func(ctx context.Context) error {
		return func(ctx context.Context) error { return e.Use.ConfirmAccount(ctx, id, at(time.Hour)) }
	}
	e.must(t, confirm(a.ID))
	same(t, "confirmed again", a, e.getAccount(t, a.ID))
	sent := a
	sent.Revision, sent.ConfirmedAt = 2, time.Time{}
	e.must(t, func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, sent) })
	a.Revision = 2
	same(t, "after an update", a, e.getAccount(t, a.ID))
	e.refused(t, identity.UserNotFound, confirm("usr_none"))
}

func updateTaken(t *testing.T, e *env) {
	a, b := e.addAccount(t, named("ada"), linked(link("a"))), e.addAccount(t, named("bob"), linked(link("b")))
	taken := b
	taken.Revision, taken.Username = 2, "ada"
	e.refused(t, identity.NameTaken, func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, taken) })
	taken = b
	taken.Revision, taken.Identities = 2, []identity.Link{link("b"), link("a")}
	e.refused(t, identity.LinkTaken, func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, taken) })
	same(t, "after refused updates", b, e.getAccount(t, b.ID))
	same(t, "whose name it is", a, e.getAccount(t, a.ID))

	b.Revision, b.Role = 2, identity.Viewer // keeps its name and identity
	e.must(t, func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, b) })
	same(t, "with its own name", b, e.getAccount(t, b.ID))
}

func linkMoves(t *testing.T, e *env) {
	a, b := e.addAccount(t, named("ada"), linked(link("x"))), e.addAccount(t, named("bob"))
	a.Revision, a.Username, a.Identities = 2, "was ada", nil
	b.Revision, b.Username, b.Identities = 2, "ada", []identity.Link{link("x")}
	e.must(t, func(ctx context.Context) error {
		if err := e.Accounts.UpdateAccount(ctx, a); err != nil {
			return err
		}
		return e.Accounts.UpdateAccount(ctx, b)
	})
	got, err := e.Callers.UserByLink(t.Context(), link("x"))
	noError(t, err)
	same(t, "whose identity it is now", b.User, got)
	same(t, "whose it was", a, e.getAccount(t, a.ID))
}

func updateRace(t *testing.T, e *env) {
	a := e.addAccount(t, linked(link("one")))
	const rounds = 5
	for revision := int64(2); revision < 2+rounds; revision++ {
		won := wins(t, 8, identity.RevisionChanged, func(i int) error {
			next := a
			next.Revision, next.Profile.Notes = revision, string(rune('a'+i))
			next.Identities = []identity.Link{link(next.Profile.Notes)}
			return e.Unit.Do(t.Context(), func(ctx context.Context) error { return e.Accounts.UpdateAccount(ctx, next) })
		})
		same(t, "winners", int64(1), won)
		got := e.getAccount(t, a.ID)
		same(t, "revision", revision, got.Revision)
		same(t, "identities of the same update", []identity.Link{link(got.Profile.Notes)}, got.Identities)
	}
}

func nameFree(t *testing.T, e *env) {
	a := e.addAccount(t, named("ada"), linked(link("a")))
	e.must(t, func(ctx context.Context) error { return e.Accounts.DeleteAccount(ctx, a.ID) })
	_, err := e.Callers.UserByLink(t.Context(), link("a"))
	wantFault(t, err, identity.UserNotFound)
	_, _, err = e.Callers.UserByName(t.Context(), "ada")
	wantFault(t, err, identity.UserNotFound)
	_, err = e.Callers.Caller(t.Context(), a.ID, "")
	wantFault(t, err, identity.UserNotFound)
	e.refused(t, identity.UserNotFound, func(ctx context.Context) error { return e.Accounts.DeleteAccount(ctx, a.ID) })
	b := e.addAccount(t, named("ada"), linked(link("a")))
	got, err := e.Callers.UserByLink(t.Context(), link("a"))
	noError(t, err)
	same(t, "the next with the name", b.User, got)
}
