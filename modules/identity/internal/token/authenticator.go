package token

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// refusal is the same for every bad token, so that it does not reveal whether the token exists.
func refusal() error {
	return identity.BadToken.New("the token is missing, unknown, expired or revoked")
}

// Resolve finds a bearer token with one indexed read. A malformed token is refused without a read. Errors: BadToken.
func Resolve(ctx context.Context, s identity.CallerStore, bearer string, now time.Time) (identity.Bearer, error) {
	if !wellFormed(bearer) {
		return identity.Bearer{}, refusal()
	}
	b, err := s.TokenByHash(ctx, Hash(bearer))
	if fault.Is(err, fault.NotFound) {
		return identity.Bearer{}, refusal()
	}
	if err != nil {
		return identity.Bearer{}, err
	}
	if expired(b.Token, now) {
		return identity.Bearer{}, refusal()
	}
	return b, nil
}

// Authenticator resolves bearer tokens of sessions and programs. It caches nothing, so a revocation is in force from
// the next request on, on every server.
type Authenticator struct {
	store identity.CallerStore
	clock clock.Clock
	uses  *Recorder
}

var _ identity.Authenticator = (*Authenticator)(nil)

// NewAuthenticator makes an authenticator over a store.
func NewAuthenticator(s identity.CallerStore, c clock.Clock, u *Recorder) *Authenticator {
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

// Account does not count as a use of the token. An empty tokenID is BadToken.
func (a *Authenticator) Account(ctx context.Context, userID, tokenID string) (identity.Principal, error) {
	if userID == "" || tokenID == "" {
		return identity.Principal{}, goneSince()
	}
	b, err := a.store.Caller(ctx, userID, tokenID)
	if fault.Is(err, fault.NotFound) || err == nil && expired(b.Token, a.clock.Now()) {
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
