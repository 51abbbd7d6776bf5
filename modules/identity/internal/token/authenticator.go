package token

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// refusal is the same for every bad token, so that it does not reveal whether the token exists.
func refusal() *fault.Error {
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
	return b, usable(ctx, b.Token, now, refusal)
}

// usable returns the refusal of a token that has expired, or that is not valid from the address of ctx's actor.
func usable(ctx context.Context, t identity.Token, now time.Time, refusal func() *fault.Error) error {
	if !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) {
		return refusal()
	}
	if len(t.Networks) == 0 {
		return nil
	}
	ip, err := netip.ParseAddr(actor.From(ctx).IP)
	if err != nil || !slices.ContainsFunc(t.Networks, func(p netip.Prefix) bool { return p.Contains(ip.WithZone("")) }) {
		return refusal().Because(errors.New("the token is not valid from this address"))
	}
	return nil
}

func principal(b identity.Bearer) identity.Principal {
	return identity.Principal{User: b.User, TokenID: b.Token.ID, Scopes: b.Token.Scopes, Version: b.Version}
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
	return principal(b), nil
}

// Account does not count as a use of the token. An empty tokenID is BadToken.
func (a *Authenticator) Account(ctx context.Context, userID, tokenID string) (identity.Principal, error) {
	if userID == "" || tokenID == "" {
		return identity.Principal{}, goneSince()
	}
	b, err := a.store.Caller(ctx, userID, tokenID)
	if fault.Is(err, fault.NotFound) {
		return identity.Principal{}, goneSince()
	}
	if err == nil {
		err = usable(ctx, b.Token, a.clock.Now(), goneSince)
	}
	if err != nil {
		return identity.Principal{}, err
	}
	return principal(b), nil
}

func goneSince() *fault.Error {
	return identity.BadToken.New("the account is gone, or its token was revoked or has expired")
}
