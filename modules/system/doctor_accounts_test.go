package system_test

import (
	"context"
	"errors"
	"testing"
	"time"

	module "github.com/writ-automation/writ/modules/system"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/system"
)

type accounts struct {
	identity.AccountStore
	list []identity.Account
	err  error
}

func (s accounts) ListAccounts(_ context.Context, w page.Window) ([]identity.Account, int, error) {
	if s.err != nil {
		return nil, 0, s.err
	}
	return slice(access.Everything(), w, s.list)
}

// TestUnconfirmedAccounts lists the accounts of providers that nobody has confirmed for 90 days, and no others.
func TestUnconfirmedAccounts(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	account := func(name string, confirmed, updated time.Duration, links ...identity.Link) identity.Account {
		a := identity.Account{User: identity.User{ID: "usr_" + name, Username: name}, UpdatedAt: noon.Add(-updated),
			Identities: links}
		if confirmed >= 0 {
			a.ConfirmedAt = noon.Add(-confirmed)
		}
		return a
	}
	l := identity.Link{Protocol: identity.OIDC, Issuer: "https://id.example", Subject: "1"}
	s := accounts{list: []identity.Account{
		account("password", -1, 400*day), account("today", 0, 400*day, l), account("almost", 90*day-time.Second, 400*day, l),
		account("left", 90*day, 0, l), account("linked", -1, day, l), account("never", -1, 120*day, l),
	}}
	x, err := module.NewAccountCheck(module.AccountParams{Accounts: s, Clock: stopped{}}).Examine(t.Context())
	if err != nil || x.Examined != len(s.list) || len(x.Findings) != 2 {
		t.Fatalf("%+v, %v", x, err)
	}
	for i, want := range []struct{ name, problem string }{
		{"left", "its provider has not confirmed the account for 90 days"},
		{"never", "its provider has not confirmed the account for 120 days"},
	} {
		f := x.Findings[i]
		if f.Object != (system.Subject{Kind: "user", ID: "usr_" + want.name, Name: want.name}) || f.Problem != want.problem ||
			f.Severity != system.Warning || f.Fix == "" || f.Link != "/v1/users/usr_"+want.name {
			t.Errorf("%+v", f)
		}
	}
	s.err = errors.New("gone")
	if _, err := module.NewAccountCheck(module.AccountParams{Accounts: s, Clock: stopped{}}).
		Examine(t.Context()); !errors.Is(err, s.err) {
		t.Errorf("a store that fails: %v", err)
	}
}
