package caller

import (
	"context"
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

// refusal is the same for every bad token: it does not tell whether one exists.
func refusal() error {
	return identity.BadToken.New("the token is missing, unknown, expired or revoked")
}

// Resolve finds the token of a bearer with one indexed read. BadToken; a malformed one never reaches the store.
func Resolve(ctx context.Context, s identity.CallerStore, bearer string, now time.Time) (identity.Bearer, error) {
	if !token.WellFormed(bearer) {
		return identity.Bearer{}, refusal()
	}
	b, err := s.TokenByHash(ctx, token.Hash(bearer))
	if fault.Is(err, fault.NotFound) {
		return identity.Bearer{}, refusal()
	}
	if err != nil {
		return identity.Bearer{}, err
	}
	if token.Over(b.Token, now) {
		return identity.Bearer{}, refusal()
	}
	return b, nil
}

// Authenticator resolves bearer tokens, of sessions and of programs alike. Nothing is kept between requests, so a
// revocation holds from the next request on, on every server.
type Authenticator struct {
	store identity.CallerStore
	clock clock.Clock
	uses  Uses
}

var _ identity.Authenticator = (*Authenticator)(nil)

// NewAuthenticator makes an authenticator over a store.
func NewAuthenticator(s identity.CallerStore, c clock.Clock, u Uses) *Authenticator {
	return &Authenticator{store: s, clock: c, uses: u}
}

func (a *Authenticator) Authenticate(ctx context.Context, bearer string) (identity.Principal, error) {
	now := a.clock.Now()
	b, err := Resolve(ctx, a.store, bearer, now)
	if err != nil {
		return identity.Principal{}, err
	}
	a.uses.Used(b.Token, now)
	return identity.Principal{User: b.User, TokenID: b.Token.ID, Version: b.Version}, nil
}

// Account does not count as a use of the token. Without a token it is BadToken: here nobody acts without one.
func (a *Authenticator) Account(ctx context.Context, userID, tokenID string) (identity.Principal, error) {
	if userID == "" || tokenID == "" {
		return identity.Principal{}, goneSince()
	}
	b, err := a.store.Caller(ctx, userID, tokenID)
	if fault.Is(err, fault.NotFound) || err == nil && token.Over(b.Token, a.clock.Now()) {
		return identity.Principal{}, goneSince()
	}
	if err != nil {
		return identity.Principal{}, err
	}
	return identity.Principal{User: b.User, TokenID: b.Token.ID, Version: b.Version}, nil
}

func goneSince() error {
	return identity.BadToken.New("the account is gone, or its token was revoked or has expired")
}
