package identitytest

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// tb is a test or one draw of a property.
type tb interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

var (
	_ tb = (*testing.T)(nil)
	_ tb = (*rapid.T)(nil)
)

// env holds the stores of a case and creates records for them.
type env struct {
	Stores
	n atomic.Int64
}

// epoch is the creation time of a case's records.
var epoch = time.Date(2025, 3, 4, 5, 6, 7, 891011000, time.UTC)

// elsewhere is a zone with an odd offset. Stores keep points in time, not zones.
var elsewhere = time.FixedZone("elsewhere", 5*3600+1800)

// odd is a text that survives only if no layer interprets it.
const odd = "ünï 'q' \"d\" `b` ? ?? $1 %_ \\ \\n {\"a\":1} 漢字 \U0001F600\n\ttab"

func at(d time.Duration) time.Time { return epoch.Add(d) }

// do runs fn in a unit of work and returns its error.
func (e *env) do(t tb, fn func(ctx context.Context) error) error {
	t.Helper()
	return e.Unit.Do(t.Context(), fn)
}

// must runs fn in a unit of work and fails the test on an error.
func (e *env) must(t tb, fn func(ctx context.Context) error) {
	t.Helper()
	if err := e.do(t, fn); err != nil {
		t.Fatalf("unit of work: %v", err)
	}
}

// refused runs fn in a unit of work and fails the test unless it ends with the fault.
func (e *env) refused(t tb, code fault.Code, fn func(ctx context.Context) error) {
	t.Helper()
	wantFault(t, e.do(t, fn), code)
}

func wantFault(t tb, err error, code fault.Code) {
	t.Helper()
	if !code.Is(err) {
		t.Fatalf("error is %v, want %s", err, code.Name)
	}
}

func noError(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// same compares two values: times as points in time, nil lists as empty ones, unordered values in any order.
func same(t tb, what string, want, got any) {
	t.Helper()
	// Equal values need no diff, which takes long for large values.
	if reflect.DeepEqual(want, got) {
		return
	}
	if d := diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func diff(want, got any) string {
	return gocmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.Prefix{}),
		cmpopts.SortSlices(func(a, b identity.Link) bool {
			return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), strings.Compare(a.Issuer, b.Issuer),
				strings.Compare(a.Subject, b.Subject)) < 0
		}),
		cmpopts.SortSlices(func(a, b identity.SubjectLevel) bool {
			return cmp.Or(strings.Compare(a.Subject, b.Subject), cmp.Compare(a.Level, b.Level)) < 0
		}))
}

// wins counts the successes of n concurrent callers. The others must get the fault loser.
func wins(t *testing.T, n int, loser fault.Code, fn func(i int) error) int64 {
	t.Helper()
	var won atomic.Int64
	txtest.Together(n, func(i int) {
		if err := fn(i); err == nil {
			won.Add(1)
		} else if !loser.Is(err) {
			t.Errorf("a loser gets %v, want %s", err, loser.Name)
		}
	})
	return won.Load()
}

// waitTimeout is the timeout of eventually.
const waitTimeout = 20 * time.Second

// eventually waits until fn holds.
func eventually(t *testing.T, what string, fn func() bool) {
	t.Helper()
	for end := time.Now().Add(waitTimeout); !fn(); time.Sleep(3 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// id creates an id that is unique in the case. Ids sort in the order of their creation.
func (e *env) id(p ids.Prefix) string { return fmt.Sprintf("%s%026d", p, e.n.Add(1)) }

// account creates an operator that reads back equal from a store.
func (e *env) account(edit ...func(*identity.Account)) identity.Account {
	id := e.id(ids.User)
	a := identity.Account{
		User:      identity.User{ID: id, Username: "name of " + id, Role: identity.Operator, CreatedAt: epoch},
		UpdatedAt: epoch, Revision: 1,
	}
	for _, fn := range edit {
		fn(&a)
	}
	return a
}

func (e *env) addAccount(t tb, edit ...func(*identity.Account)) identity.Account {
	t.Helper()
	a := e.account(edit...)
	e.must(t, func(ctx context.Context) error { return e.Accounts.InsertAccount(ctx, a, "") })
	return a
}

func named(name string) func(*identity.Account) {
	return func(a *identity.Account) { a.Username = name }
}

func asRole(r identity.Role) func(*identity.Account) {
	return func(a *identity.Account) { a.Role = r }
}

func linked(links ...identity.Link) func(*identity.Account) {
	return func(a *identity.Account) { a.Identities = links }
}

func link(subject string) identity.Link {
	return identity.Link{Protocol: identity.OIDC, Issuer: "https://id.example/'x'", Subject: subject}
}

// getAccount reads an existing account.
func (e *env) getAccount(t tb, id string) identity.Account {
	t.Helper()
	a, err := e.Accounts.AccountByID(t.Context(), id)
	if err != nil {
		t.Fatalf("read %s: %v", id, err)
	}
	return a
}

// token creates an API token. Its number determines its creation time.
func (e *env) token(owner string, edit ...func(*identity.Token)) (identity.Token, [32]byte) {
	n := e.n.Add(1)
	tok := identity.Token{
		ID: fmt.Sprintf("%s%026d", ids.Token, n), Kind: identity.APIToken, Name: odd, UserID: owner,
		CreatedAt: at(time.Duration(n) * time.Microsecond), CreatedBy: "usr_who",
	}
	for _, fn := range edit {
		fn(&tok)
	}
	return tok, [32]byte{byte(n), byte(n >> 8), 0, 255}
}

func (e *env) addToken(t tb, owner string, edit ...func(*identity.Token)) (identity.Token, [32]byte) {
	t.Helper()
	tok, hash := e.token(owner, edit...)
	e.must(t, func(ctx context.Context) error { return e.Tokens.InsertToken(ctx, tok, hash) })
	tok.Username = e.getAccount(t, owner).Username
	return tok, hash
}

func asSession(expires time.Time) func(*identity.Token) {
	return func(t *identity.Token) { t.Kind, t.ExpiresAt = identity.SessionToken, expires }
}

// addTeam stores a team with members.
func (e *env) addTeam(t tb, members ...string) identity.Team {
	t.Helper()
	id := e.id(ids.Team)
	team := identity.Team{ID: id, Name: "name of " + id, CreatedAt: epoch, CreatedBy: "usr_who"}
	e.must(t, func(ctx context.Context) error {
		if err := e.Teams.InsertTeam(ctx, team); err != nil {
			return err
		}
		for _, m := range members {
			if _, err := e.Teams.AddTeamMember(ctx, id, m, epoch); err != nil {
				return err
			}
		}
		return nil
	})
	return team
}

// addOrg stores an organization with admins.
func (e *env) addOrg(t tb, admins ...string) identity.Org {
	t.Helper()
	id := e.id(ids.Org)
	org := identity.Org{ID: id, Name: "name of " + id, CreatedAt: epoch, CreatedBy: "usr_who"}
	e.must(t, func(ctx context.Context) error {
		if err := e.Orgs.InsertOrg(ctx, org); err != nil {
			return err
		}
		for _, m := range admins {
			if _, err := e.Orgs.PutOrgMember(ctx, id, m, identity.OrgAdmin, epoch); err != nil {
				return err
			}
		}
		return nil
	})
	return org
}

// addObject registers an object; org may be empty.
func (e *env) addObject(t tb, kind ids.Prefix, org string) string {
	t.Helper()
	id := e.id(kind)
	e.must(t, func(ctx context.Context) error { return e.Objects.PutObject(ctx, identity.Object{ID: id, Org: org}) })
	return id
}

func (e *env) remove(t tb, object string) {
	t.Helper()
	e.must(t, func(ctx context.Context) error { return e.Objects.RemoveObject(ctx, object) })
}

// grant creates a grant. Its number determines its creation time.
func (e *env) grant(subject, object string, l access.Level) identity.Grant {
	n := e.n.Add(1)
	return identity.Grant{
		ID: fmt.Sprintf("%s%026d", ids.Grant, n), Subject: subject, Object: object, Level: l,
		CreatedAt: at(time.Duration(n) * time.Microsecond), CreatedBy: "usr_who",
	}
}

func (e *env) insertGrant(t tb, g identity.Grant) (first bool, err error) {
	t.Helper()
	err = e.do(t, func(ctx context.Context) error {
		var err error
		first, err = e.Grants.InsertGrant(ctx, g)
		return err
	})
	return first, err
}

func (e *env) addGrant(t tb, subject, object string, l access.Level) identity.Grant {
	t.Helper()
	g := e.grant(subject, object, l)
	if _, err := e.insertGrant(t, g); err != nil {
		t.Fatalf("grant %s on %s: %v", subject, object, err)
	}
	return g
}

func (e *env) dropGrant(t tb, g identity.Grant) {
	t.Helper()
	e.must(t, func(ctx context.Context) error { return e.Grants.DeleteGrant(ctx, g.ID) })
}
