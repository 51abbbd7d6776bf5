package identitytest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/tx"
)

// Stores are the stores under test and the unit of work that they join. They share one database.
type Stores struct {
	Unit     tx.Unit
	Accounts identity.Store
	Use      identity.UseStore
}

// Each opens fresh stores, once for each way in which the implementation can be set up, and calls fn in a sub-test.
type Each func(t *testing.T, fn func(t *testing.T, s Stores))

// Run holds an implementation to the contract.
func Run(t *testing.T, each Each) {
	t.Helper()
	for name, fn := range map[string]func(*testing.T, Stores){
		"users":                    users,
		"a name is taken once":     nameOnce,
		"one name at once":         nameRace,
		"tokens":                   tokens,
		"a token needs its user":   orphan,
		"a token is inserted once": tokenOnce,
		"a deleted token":          deleted,
		"tokens in order":          ordered,
		"times of use":             touched,
		"a unit that fails":        rolledBack,
		"a write needs a unit":     noUnit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, fn)
		})
	}
}

var epoch = time.Date(2025, 3, 4, 5, 6, 7, 891011000, time.UTC)

func user(n int) identity.User {
	return identity.User{ID: fmt.Sprint("usr_", n), Username: fmt.Sprint("ada ", n), Role: identity.Operator, CreatedAt: epoch}
}

func token(n int, owner string) (identity.Token, [32]byte) {
	return identity.Token{
		ID: fmt.Sprint("tok_", n), Name: "ci 'x'", UserID: owner, CreatedAt: epoch.Add(time.Duration(n) * time.Second), CreatedBy: "usr_9",
		ExpiresAt: epoch.Add(time.Hour),
	}, [32]byte{byte(n), 0, 255}
}

func (s Stores) must(t *testing.T, fn func(ctx context.Context) error) {
	t.Helper()
	if err := s.Unit.Do(t.Context(), fn); err != nil {
		t.Fatalf("unit of work: %v", err)
	}
}

func (s Stores) addUser(t *testing.T, u identity.User) identity.User {
	t.Helper()
	s.must(t, func(ctx context.Context) error { return s.Accounts.InsertUser(ctx, u) })
	return u
}

func (s Stores) addToken(t *testing.T, n int, owner string) (identity.Token, [32]byte) {
	t.Helper()
	tok, hash := token(n, owner)
	s.must(t, func(ctx context.Context) error { return s.Accounts.InsertToken(ctx, tok, hash) })
	return tok, hash
}

func wantFault(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !code.Is(err) {
		t.Fatalf("error is %v, want %s", err, code.Name)
	}
}

func users(t *testing.T, s Stores) {
	if n, err := s.Accounts.CountUsers(t.Context()); n != 0 || err != nil {
		t.Errorf("a fresh store has %d users, %v", n, err)
	}
	want := s.addUser(t, user(1))
	s.addUser(t, user(2))
	if got, err := s.Accounts.UserByID(t.Context(), want.ID); err != nil || got != want {
		t.Errorf("by id: %+v, %v", got, err)
	}
	if got, err := s.Accounts.UserByName(t.Context(), want.Username); err != nil || got != want {
		t.Errorf("by name: %+v, %v", got, err)
	}
	if n, err := s.Accounts.CountUsers(t.Context()); n != 2 || err != nil {
		t.Errorf("%d users, %v", n, err)
	}
	_, err := s.Accounts.UserByID(t.Context(), "usr_none")
	wantFault(t, err, identity.UserNotFound)
	_, err = s.Accounts.UserByName(t.Context(), "nobody")
	wantFault(t, err, identity.UserNotFound)
}

func nameOnce(t *testing.T, s Stores) {
	s.addUser(t, user(1))
	other := user(2)
	other.Username = user(1).Username
	for _, u := range []identity.User{other, user(1)} {
		err := s.Unit.Do(t.Context(), func(ctx context.Context) error { return s.Accounts.InsertUser(ctx, u) })
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("inserting %+v: %v", u, err)
		}
	}
}

func nameRace(t *testing.T, s Stores) {
	var won atomic.Int64
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			u := user(n)
			u.Username = "admin"
			err := s.Unit.Do(t.Context(), func(ctx context.Context) error { return s.Accounts.InsertUser(ctx, u) })
			if err == nil {
				won.Add(1)
			} else if !fault.Is(err, fault.Conflict) {
				t.Errorf("the loser gets %v", err)
			}
		})
	}
	wg.Wait()
	if n := won.Load(); n != 1 {
		t.Errorf("%d inserts won", n)
	}
}

func tokens(t *testing.T, s Stores) {
	u := s.addUser(t, user(1))
	want, hash := s.addToken(t, 1, u.ID)
	got, owner, err := s.Accounts.TokenByHash(t.Context(), hash)
	if err != nil || got != want || owner != u {
		t.Errorf("by hash: %+v of %+v, %v", got, owner, err)
	}
	_, _, err = s.Accounts.TokenByHash(t.Context(), [32]byte{9})
	wantFault(t, err, identity.TokenNotFound)
}

func orphan(t *testing.T, s Stores) {
	tok, hash := token(1, "usr_none")
	wantFault(t, s.Unit.Do(t.Context(), func(ctx context.Context) error { return s.Accounts.InsertToken(ctx, tok, hash) }), identity.UserNotFound)
}

func tokenOnce(t *testing.T, s Stores) {
	u := s.addUser(t, user(1))
	first, hash := s.addToken(t, 1, u.ID)
	second, other := token(2, u.ID)
	for _, c := range []struct {
		tok  identity.Token
		hash [32]byte
	}{{second, hash}, {first, other}} {
		err := s.Unit.Do(t.Context(), func(ctx context.Context) error { return s.Accounts.InsertToken(ctx, c.tok, c.hash) })
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("inserting %s: %v", c.tok.ID, err)
		}
	}
}

func deleted(t *testing.T, s Stores) {
	u := s.addUser(t, user(1))
	tok, hash := s.addToken(t, 1, u.ID)
	remove := func() error {
		return s.Unit.Do(t.Context(), func(ctx context.Context) error { return s.Accounts.DeleteToken(ctx, tok.ID) })
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	wantFault(t, remove(), identity.TokenNotFound)
	_, _, err := s.Accounts.TokenByHash(t.Context(), hash)
	wantFault(t, err, identity.TokenNotFound)
}

func (s Stores) list(t *testing.T) []identity.Token {
	t.Helper()
	list, err := s.Accounts.ListTokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func ordered(t *testing.T, s Stores) {
	u := s.addUser(t, user(1))
	if got := s.list(t); len(got) != 0 {
		t.Errorf("a fresh store has %v", got)
	}
	third, _ := s.addToken(t, 3, u.ID)
	first, _ := s.addToken(t, 1, u.ID)
	if got := s.list(t); len(got) != 2 || got[0] != first || got[1] != third {
		t.Errorf("tokens are %+v", got)
	}
}

func touched(t *testing.T, s Stores) {
	u := s.addUser(t, user(1))
	a, _ := s.addToken(t, 1, u.ID)
	b, _ := s.addToken(t, 2, u.ID)
	touch := func(used map[string]time.Time) {
		s.must(t, func(ctx context.Context) error { return s.Use.TouchTokens(ctx, used) })
	}
	late, early := epoch.Add(2*time.Hour), epoch.Add(time.Hour)
	touch(nil)
	touch(map[string]time.Time{a.ID: late, "tok_none": late})
	touch(map[string]time.Time{a.ID: early, b.ID: early})
	got := s.list(t)
	if !got[0].LastUsedAt.Equal(late) || !got[1].LastUsedAt.Equal(early) {
		t.Errorf("used at %s and %s", got[0].LastUsedAt, got[1].LastUsedAt)
	}
}

func rolledBack(t *testing.T, s Stores) {
	err := s.Unit.Do(t.Context(), func(ctx context.Context) error {
		if err := s.Accounts.InsertUser(ctx, user(1)); err != nil {
			return err
		}
		return identity.NotAllowed.New("no")
	})
	wantFault(t, err, identity.NotAllowed)
	if n, err := s.Accounts.CountUsers(t.Context()); n != 0 || err != nil {
		t.Errorf("%d users are left, %v", n, err)
	}
}

func noUnit(t *testing.T, s Stores) {
	if err := s.Accounts.InsertUser(t.Context(), user(1)); !fault.Is(err, fault.Internal) {
		t.Errorf("a write without a unit: %v", err)
	}
}
