package token

import (
	"context"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// Open authenticates every caller as the account of a fresh install, with the role admin.
type Open struct {
	store identity.CallerStore
	name  string
}

var _ identity.Authenticator = (*Open)(nil)

// NewOpen makes the authenticator of an install without tokens.
func NewOpen(s identity.CallerStore, name string) *Open { return &Open{store: s, name: name} }

// Authenticate ignores the token. If the account does not exist any more, the caller is an admin without an account.
func (o *Open) Authenticate(ctx context.Context, _ string) (identity.Principal, error) {
	u, _, err := o.store.UserByName(ctx, o.name)
	if fault.Is(err, fault.NotFound) {
		u, err = identity.User{Username: o.name}, nil
	}
	if err != nil {
		return identity.Principal{}, err
	}
	u.Role = identity.Admin
	return identity.Principal{User: u, Open: true}, nil
}

// Account ignores the account and the token.
func (o *Open) Account(ctx context.Context, _, _ string) (identity.Principal, error) {
	return o.Authenticate(ctx, "")
}
