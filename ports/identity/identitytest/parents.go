package identitytest

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/identity"
)

// limited gives a token every limit.
func limited(t *identity.Token) {
	t.Scopes = identity.Scopes{identity.ScopeRead, identity.ScopeLaunch}
	t.Networks = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}
}

func madeWith(parent identity.Token) func(*identity.Token) {
	return func(t *identity.Token) { t.ParentID = parent.ID }
}

// endToken removes a token and checks how many others end with it.
func (e *env) endToken(t *testing.T, id string, others int) {
	t.Helper()
	e.must(t, func(ctx context.Context) error {
		n, err := e.Tokens.DeleteToken(ctx, id)
		if err == nil && n != others {
			t.Errorf("%d tokens ended with %s, want %d", n, id, others)
		}
		return err
	})
}

func tokenParents(t *testing.T, e *env) {
	u, v := e.addAccount(t), e.addAccount(t)
	root, _ := e.addToken(t, u.ID)
	child, _ := e.addToken(t, u.ID, madeWith(root))
	grandchild, hash := e.addToken(t, u.ID, madeWith(child), limited)
	foreign, _ := e.addToken(t, v.ID, madeWith(root))
	sibling, _ := e.addToken(t, u.ID)
	session, _ := e.addToken(t, u.ID, asSession(at(time.Hour)))
	made, _ := e.addToken(t, u.ID, madeWith(session))
	got, err := e.Callers.TokenByHash(t.Context(), hash)
	noError(t, err)
	same(t, "a token with a parent", grandchild, got.Token)
	e.endToken(t, session.ID, 0)
	e.endToken(t, root.ID, 2)
	same(t, "what is left", []identity.Token{foreign, sibling, made}, e.tokens(t))
	for _, parent := range []identity.Token{root, session} {
		tok, hash := e.token(u.ID, madeWith(parent))
		e.refused(t, identity.TokenNotFound, func(ctx context.Context) error { return e.Tokens.InsertToken(ctx, tok, hash) })
	}
}

// tokenParentRace: no token of an account outlives the API token that it was made with, and none is made with one that
// has ended, also for another account.
func tokenParentRace(t *testing.T, e *env) {
	u, v := e.addAccount(t), e.addAccount(t)
	for round := range 12 {
		parent, _ := e.addToken(t, u.ID)
		owner := []string{u.ID, v.ID}[round%2]
		tok, hash := e.token(owner, madeWith(parent))
		others := 0
		a, b := e.both(t, func(ctx context.Context) error {
			var err error
			others, err = e.Tokens.DeleteToken(ctx, parent.ID)
			return err
		}, func(ctx context.Context) error { return e.Tokens.InsertToken(ctx, tok, hash) })
		noError(t, a)
		either(t, "the token", b, identity.TokenNotFound)
		_, err := e.Callers.TokenByHash(t.Context(), hash)
		if owner == u.ID {
			wantFault(t, err, identity.TokenNotFound)
			same(t, "others that ended", map[bool]int{true: 1, false: 0}[b == nil], others)
		} else if (err == nil) != (b == nil) {
			t.Errorf("stored: %v, made: %v", err, b)
		}
	}
}

func madeBy(id string) func(*identity.Token) {
	return func(t *identity.Token) { t.CreatedBy = id }
}

func tokenSets(t *testing.T, e *env) {
	for set, want := range map[identity.TokenSet]identity.Ended{
		identity.Sessions: {Sessions: 1}, identity.OwnTokens: {Sessions: 1, Tokens: 2},
		identity.AllTokens: {Sessions: 1, Tokens: 4},
	} {
		u, v := e.addAccount(t), e.addAccount(t)
		before := e.tokens(t)
		e.addToken(t, u.ID, asSession(at(time.Hour)), madeBy(u.ID))
		spared, _ := e.addToken(t, u.ID, asSession(at(time.Hour)), madeBy(u.ID))
		own, _ := e.addToken(t, u.ID, madeBy(u.ID))
		ofAdmin, _ := e.addToken(t, u.ID, madeBy(v.ID))
		child, _ := e.addToken(t, u.ID, madeBy(u.ID), madeWith(ofAdmin))
		ofCommand, _ := e.addToken(t, u.ID, madeBy("cli:ann"))
		forOther, _ := e.addToken(t, v.ID, madeBy(u.ID))
		others, _ := e.addToken(t, v.ID, asSession(at(time.Hour)), madeBy(v.ID))
		e.must(t, func(ctx context.Context) error {
			n, err := e.Tokens.DeleteTokens(ctx, u.ID, set, spared.ID)
			same(t, "what ended", want, n)
			return err
		})
		left := map[identity.TokenSet][]identity.Token{
			identity.Sessions:  {spared, own, ofAdmin, child, ofCommand, forOther, others},
			identity.OwnTokens: {spared, ofAdmin, ofCommand, forOther, others},
			identity.AllTokens: {spared, forOther, others},
		}[set]
		same(t, "what is left", append(before, left...), e.tokens(t))
	}
}

// tokenSetRace: in either order, no token that an account makes for itself with a session stays when both end.
func tokenSetRace(t *testing.T, e *env) {
	for range 8 {
		u := e.addAccount(t)
		session, _ := e.addToken(t, u.ID, asSession(at(time.Hour)), madeBy(u.ID))
		tok, hash := e.token(u.ID, madeWith(session), madeBy(u.ID))
		var ended identity.Ended
		a, b := e.both(t, func(ctx context.Context) error {
			var err error
			ended, err = e.Tokens.DeleteTokens(ctx, u.ID, identity.OwnTokens, "")
			return err
		}, func(ctx context.Context) error { return e.Tokens.InsertToken(ctx, tok, hash) })
		noError(t, a)
		either(t, "the token", b, identity.TokenNotFound)
		same(t, "what ended", identity.Ended{Sessions: 1, Tokens: map[bool]int{true: 1, false: 0}[b == nil]}, ended)
		_, err := e.Callers.TokenByHash(t.Context(), hash)
		wantFault(t, err, identity.TokenNotFound)
	}
}
