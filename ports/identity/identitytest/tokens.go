package identitytest

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func tokenCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"a token reads back whole":         tokenWhole,
		"a token needs its user":           tokenOrphan,
		"a token comes as its user goes":   tokenRace,
		"a token is inserted once":         tokenOnce,
		"a caller with a token":            tokenOfCaller,
		"a deleted token":                  tokenDeleted,
		"a token and its parent":           tokenParents,
		"a token comes as its parent goes": tokenParentRace,
		"tokens in order":                  tokensInOrder,
		"sessions of an account":           sessionsDeleted,
		"sets of tokens":                   tokenSets,
		"a token comes as others end":      tokenSetRace,
		"expired sessions":                 sessionsPurged,
		"times of use":                     tokensTouched,
		"times of use from several places": tokensTouchedTogether,
	}
}

func tokenWhole(t *testing.T, e *env) {
	u := e.addAccount(t, asRole(identity.Viewer))
	for name, edit := range map[string]func(*identity.Token){
		"api":            func(*identity.Token) {},
		"session":        asSession(at(time.Hour)),
		"expired":        asSession(epoch.Add(-50000 * time.Hour)),
		"without a name": func(tok *identity.Token) { tok.Name, tok.CreatedBy = "", "" },
		"with every value": func(tok *identity.Token) {
			tok.ExpiresAt, tok.LastUsedAt = at(time.Microsecond), at(time.Second)
		},
		"from elsewhere": func(tok *identity.Token) {
			tok.CreatedAt, tok.ExpiresAt = tok.CreatedAt.In(elsewhere), at(time.Hour).In(elsewhere)
		},
		"with limits":       limited,
		"of its own making": func(tok *identity.Token) { tok.CreatedBy = u.ID },
	} {
		want, hash := e.addToken(t, u.ID, edit)
		got, err := e.Callers.TokenByHash(t.Context(), hash)
		noError(t, err)
		same(t, name+", by hash", want, got.Token)
		same(t, name+", its user", u.User, got.User)
		tok, err := e.Tokens.TokenByID(t.Context(), want.ID)
		noError(t, err)
		same(t, name+", by id", want, tok)
	}
	_, err := e.Callers.TokenByHash(t.Context(), [32]byte{1, 2, 3, 4})
	wantFault(t, err, identity.TokenNotFound)
	_, err = e.Tokens.TokenByID(t.Context(), "tok_none")
	wantFault(t, err, identity.TokenNotFound)
}

// tokenOfCaller: a caller is read with the requested token, even if expired, if it is one of the caller's.
func tokenOfCaller(t *testing.T, e *env) {
	u, v := e.addAccount(t), e.addAccount(t)
	api, _ := e.addToken(t, u.ID)
	expired, _ := e.addToken(t, u.ID, asSession(epoch.Add(-time.Hour)))
	foreign, _ := e.addToken(t, v.ID)
	version := e.version(t, u.ID)
	for _, tok := range []identity.Token{api, expired, {}} {
		b, err := e.Callers.Caller(t.Context(), u.ID, tok.ID)
		noError(t, err)
		same(t, "the caller with "+tok.ID, identity.Bearer{User: u.User, Token: tok, Version: version}, b)
	}
	for _, id := range []string{foreign.ID, "tok_none", "%"} {
		_, err := e.Callers.Caller(t.Context(), u.ID, id)
		wantFault(t, err, identity.TokenNotFound)
	}
	_, err := e.Callers.Caller(t.Context(), "usr_none", api.ID)
	wantFault(t, err, identity.UserNotFound)
	_, err = e.Callers.Caller(t.Context(), "", "")
	wantFault(t, err, identity.UserNotFound)
	e.endToken(t, api.ID, 0)
	_, err = e.Callers.Caller(t.Context(), u.ID, api.ID)
	wantFault(t, err, identity.TokenNotFound)
}

func tokenOrphan(t *testing.T, e *env) {
	tok, hash := e.token("usr_none")
	e.refused(t, identity.UserNotFound, func(ctx context.Context) error { return e.Tokens.InsertToken(ctx, tok, hash) })
}

func tokenOnce(t *testing.T, e *env) {
	u := e.addAccount(t)
	first, hash := e.addToken(t, u.ID)
	second, other := e.token(u.ID)
	for _, c := range []struct {
		tok  identity.Token
		hash [32]byte
	}{{second, hash}, {first, other}} {
		err := e.do(t, func(ctx context.Context) error { return e.Tokens.InsertToken(ctx, c.tok, c.hash) })
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("inserting %s: %v", c.tok.ID, err)
		}
	}
	_, err := e.Callers.TokenByHash(t.Context(), other)
	wantFault(t, err, identity.TokenNotFound)
}

func tokenDeleted(t *testing.T, e *env) {
	u := e.addAccount(t)
	tok, hash := e.addToken(t, u.ID)
	kept, keptHash := e.addToken(t, u.ID)
	remove := func(ctx context.Context) error { _, err := e.Tokens.DeleteToken(ctx, tok.ID); return err }
	e.must(t, remove)
	e.refused(t, identity.TokenNotFound, remove)
	_, err := e.Callers.TokenByHash(t.Context(), hash)
	wantFault(t, err, identity.TokenNotFound)
	_, err = e.Tokens.TokenByID(t.Context(), tok.ID)
	wantFault(t, err, identity.TokenNotFound)
	got, err := e.Callers.TokenByHash(t.Context(), keptHash)
	noError(t, err)
	same(t, "another token", kept, got.Token)
}

// tokenRace: no token outlives its account.
func tokenRace(t *testing.T, e *env) {
	for range 6 {
		u := e.addAccount(t)
		tok, hash := e.token(u.ID)
		a, b := e.both(t, func(ctx context.Context) error { return e.Accounts.DeleteAccount(ctx, u.ID) },
			func(ctx context.Context) error { return e.Tokens.InsertToken(ctx, tok, hash) })
		noError(t, a)
		either(t, "the token", b, identity.UserNotFound)
		_, err := e.Callers.TokenByHash(t.Context(), hash)
		wantFault(t, err, identity.TokenNotFound)
	}
}

func (e *env) tokens(t *testing.T) []identity.Token {
	t.Helper()
	list, n, err := e.Tokens.ListTokens(t.Context(), page.Window{})
	noError(t, err)
	same(t, "total", len(list), n)
	return list
}

func tokensInOrder(t *testing.T, e *env) {
	if got := e.tokens(t); len(got) != 0 {
		t.Errorf("a fresh store has %v", got)
	}
	u, v := e.addAccount(t), e.addAccount(t)
	late, _ := e.addToken(t, u.ID, func(tok *identity.Token) { tok.CreatedAt = at(time.Hour) })
	early, _ := e.addToken(t, v.ID, asSession(at(time.Minute)))
	between, _ := e.addToken(t, u.ID, func(tok *identity.Token) { tok.CreatedAt = at(time.Minute) })
	same(t, "tokens", []identity.Token{early, between, late}, e.tokens(t))
}

func sessionsDeleted(t *testing.T, e *env) {
	u, v := e.addAccount(t), e.addAccount(t)
	api, _ := e.addToken(t, u.ID)
	first, _ := e.addToken(t, u.ID, asSession(at(time.Hour)))
	second, _ := e.addToken(t, u.ID, asSession(at(time.Hour)))
	third, _ := e.addToken(t, u.ID, asSession(time.Time{}))
	other, _ := e.addToken(t, v.ID, asSession(at(time.Hour)))
	for _, c := range []struct {
		user, but string
		left      []identity.Token
	}{
		{"usr_none", "", []identity.Token{api, first, second, third, other}},
		{u.ID, second.ID, []identity.Token{api, second, other}},
		{u.ID, other.ID, []identity.Token{api, other}}, // not a session of this account
		{v.ID, api.ID, []identity.Token{api}},
		{u.ID, "", []identity.Token{api}},
	} {
		before := len(e.tokens(t))
		e.endSessions(t, c.user, c.but, before-len(c.left))
		same(t, "after the sessions of "+c.user+" but "+c.but, c.left, e.tokens(t))
	}
	spared, _ := e.addToken(t, u.ID, asSession(at(time.Hour)))
	e.endSessions(t, u.ID, spared.ID, 0)
	e.endSessions(t, u.ID, spared.ID, 0)
	same(t, "the spared one", []identity.Token{api, spared}, e.tokens(t))
	e.endSessions(t, u.ID, "", 1)
	same(t, "with none spared", []identity.Token{api}, e.tokens(t))
}

// endSessions removes the sessions of an account and checks their number.
func (e *env) endSessions(t *testing.T, user, but string, want int) {
	t.Helper()
	e.must(t, func(ctx context.Context) error {
		n, err := e.Tokens.DeleteTokens(ctx, user, identity.Sessions, but)
		if err == nil && n != (identity.Ended{Sessions: want}) {
			t.Errorf("%+v of %s were removed, want %d sessions", n, user, want)
		}
		return err
	})
}

func sessionsPurged(t *testing.T, e *env) {
	u := e.addAccount(t)
	expiredAPI, _ := e.addToken(t, u.ID, func(tok *identity.Token) { tok.ExpiresAt = at(-time.Hour) })
	endless, _ := e.addToken(t, u.ID, asSession(time.Time{}))
	exact, _ := e.addToken(t, u.ID, asSession(at(0)))
	later, _ := e.addToken(t, u.ID, asSession(at(time.Microsecond)))
	for n := range 5 {
		e.addToken(t, u.ID, asSession(at(-time.Duration(n+1)*time.Microsecond)))
	}
	kept := []identity.Token{expiredAPI, endless, exact, later}
	for round, want := range []int{2, 2, 1, 0} {
		var n int
		e.must(t, func(ctx context.Context) error {
			var err error
			n, err = e.Tokens.PurgeTokens(ctx, epoch, 2)
			return err
		})
		same(t, "purged", want, n)
		same(t, "left", len(kept)+max(0, 3-2*round), len(e.tokens(t)))
	}
	same(t, "what never goes", kept, e.tokens(t))
}

func (e *env) touch(t *testing.T, used map[string]time.Time) {
	t.Helper()
	e.must(t, func(ctx context.Context) error { return e.Use.TouchTokens(ctx, used) })
}

func tokensTouched(t *testing.T, e *env) {
	u := e.addAccount(t)
	a, _ := e.addToken(t, u.ID)
	b, hash := e.addToken(t, u.ID, asSession(at(time.Hour)))
	c, _ := e.addToken(t, u.ID)
	early, late := at(time.Hour), at(time.Hour+time.Microsecond)
	e.touch(t, nil)
	e.touch(t, map[string]time.Time{a.ID: late, "tok_none": late})
	e.touch(t, map[string]time.Time{a.ID: early, b.ID: early.In(elsewhere)}) // the time of last use never decreases
	a.LastUsedAt, b.LastUsedAt = late, early
	same(t, "tokens", []identity.Token{a, b, c}, e.tokens(t))
	e.touch(t, map[string]time.Time{b.ID: late})
	got, err := e.Callers.TokenByHash(t.Context(), hash)
	noError(t, err)
	b.LastUsedAt = late
	same(t, "used again", b, got.Token)
}

func tokensTouchedTogether(t *testing.T, e *env) {
	const n = 30
	u := e.addAccount(t)
	tokens := make([]identity.Token, n)
	for i := range tokens {
		tokens[i], _ = e.addToken(t, u.ID)
	}
	txtest.Together(8, func(i int) {
		used := map[string]time.Time{}
		for _, tok := range tokens {
			used[tok.ID] = at(time.Duration(i) * time.Minute)
		}
		if err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
			return e.Use.TouchTokens(ctx, used)
		}); err != nil {
			t.Errorf("touch: %v", err)
		}
	})
	for _, tok := range e.tokens(t) {
		if !tok.LastUsedAt.Equal(at(7 * time.Minute)) {
			t.Errorf("%s was last used at %s", tok.ID, tok.LastUsedAt)
		}
	}
}
