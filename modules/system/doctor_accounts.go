package system

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/system"
)

// confirmedWithin is how long an account may be unconfirmed by its provider.
const confirmedWithin = 90 * 24 * time.Hour

// AccountCheck reports accounts of providers that no sign-in has confirmed for a long time: whoever left is no longer
// at the provider, and the account and its tokens may still be here.
type AccountCheck struct{ p AccountParams }

var _ system.Check = (*AccountCheck)(nil)

// NewAccountCheck creates the check.
func NewAccountCheck(p AccountParams) *AccountCheck { return &AccountCheck{p: p} }

func (*AccountCheck) Name() string { return "unconfirmed_accounts" }

// Examine reads at most 10,000 accounts. An account that no provider has confirmed yet counts from its last change.
func (c *AccountCheck) Examine(ctx context.Context) (system.Examination, error) {
	var s survey
	now := c.p.Clock.Now()
	list := func(w page.Window) ([]identity.Account, int, error) { return c.p.Accounts.ListAccounts(ctx, w) }
	err := each(ctx, &s, "accounts", list, func(a identity.Account) error {
		since := a.ConfirmedAt
		if since.IsZero() {
			since = a.UpdatedAt
		}
		if days := int(now.Sub(since) / (24 * time.Hour)); len(a.Identities) > 0 && now.Sub(since) >= confirmedWithin {
			s.add(system.Finding{
				Severity: system.Warning, Object: system.Subject{Kind: "user", ID: a.ID, Name: a.Username},
				Problem: fmt.Sprintf("its provider has not confirmed the account for %d days", days),
				Fix:     "let its user sign in, or delete the account: a lost group takes effect only at a sign-in",
				Link:    "/v1/users/" + a.ID,
			})
		}
		return nil
	})
	return s.result(err)
}
