package access

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/writ-automation/writ/modules/identity/internal/token"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// Uses hears of every use of a token. It never blocks.
type Uses interface {
	Used(t identity.Token, at time.Time)
}

// Authenticator resolves bearer tokens with one indexed read each. Nothing is cached between requests, so a revocation
// holds from the next request on, on every server.
type Authenticator struct {
	store identity.Store
	clock clock.Clock
	uses  Uses
}

var _ identity.Authenticator = (*Authenticator)(nil)

// NewAuthenticator makes an authenticator over a store.
func NewAuthenticator(s identity.Store, c clock.Clock, u Uses) *Authenticator {
	return &Authenticator{store: s, clock: c, uses: u}
}

// refusal is the same for every bad token: it does not tell whether one exists.
func refusal() error {
	return identity.BadToken.New("the token is missing, unknown, expired or revoked")
}

// Authenticate implements identity.Authenticator. A malformed token never reaches the store.
func (a *Authenticator) Authenticate(ctx context.Context, bearer string) (identity.Principal, error) {
	if !token.WellFormed(bearer) {
		return identity.Principal{}, refusal()
	}
	t, user, err := a.store.TokenByHash(ctx, token.Hash(bearer))
	if fault.Is(err, fault.NotFound) {
		return identity.Principal{}, refusal()
	}
	if err != nil {
		return identity.Principal{}, err
	}
	now := a.clock.Now()
	if !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) {
		return identity.Principal{}, refusal()
	}
	a.uses.Used(t, now)
	return identity.Principal{User: user, TokenID: t.ID}, nil
}

// Open makes every caller the admin account.
type Open struct {
	store identity.Store
	admin atomic.Pointer[identity.User]
}

var _ identity.Authenticator = (*Open)(nil)

// NewOpen makes the authenticator of an install without tokens.
func NewOpen(s identity.Store) *Open { return &Open{store: s} }

// Authenticate implements identity.Authenticator; whatever token is presented, it is not looked at.
func (o *Open) Authenticate(ctx context.Context, _ string) (identity.Principal, error) {
	if u := o.admin.Load(); u != nil {
		return identity.Principal{User: *u, Open: true}, nil
	}
	u, err := o.store.UserByName(ctx, adminName)
	if fault.Is(err, fault.NotFound) {
		return identity.Principal{User: identity.User{Username: adminName, Role: identity.Admin}, Open: true}, nil
	}
	if err != nil {
		return identity.Principal{}, err
	}
	u.Role = identity.Admin
	o.admin.Store(&u)
	return identity.Principal{User: u, Open: true}, nil
}
