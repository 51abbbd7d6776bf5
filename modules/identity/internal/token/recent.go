package token

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// maxAge is the age up to which the sign-in behind an API token is recent.
const maxAge = time.Hour

// FirstName is the name of the first token of an install.
const FirstName = "first start"

// Recent decides whether callers have signed in recently.
type Recent struct {
	Tokens   identity.TokenStore
	Accounts identity.AccountStore
	Clock    clock.Clock
}

// Require returns RecentSignInRequired unless the caller of ctx presents a session, an API token that rests on a
// sign-in of the last hour, or the first token while its account has no password. The system itself and callers in open
// mode have nothing to present.
func (r Recent) Require(ctx context.Context) error {
	p, known := identity.From(ctx)
	if p.Open || !known && actor.From(ctx).Type == actor.System {
		return nil
	}
	t, err := r.Tokens.TokenByID(ctx, p.TokenID)
	if fault.Is(err, fault.NotFound) {
		return refusal()
	}
	if err != nil {
		return err
	}
	age := r.Clock.Now().Sub(t.SignedInAt).Abs() // a clock that was set back makes no sign-in recent
	if t.Kind == identity.SessionToken || age < maxAge {
		return nil
	}
	if t.Name == FirstName && t.CreatedBy == systemName {
		a, err := r.Accounts.AccountByID(ctx, t.UserID)
		if err != nil || !a.HasPassword {
			return err
		}
	}
	return identity.RecentSignInRequired.New("this takes a recent sign-in: sign in, or present a token of the last hour")
}

// systemName is the creator of what the server makes itself.
const systemName = "system"
