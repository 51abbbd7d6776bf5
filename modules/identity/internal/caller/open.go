package caller

import (
	"context"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// Open makes every caller the account of a fresh install, as an admin.
type Open struct {
	store identity.CallerStore
	name  string
}

var _ identity.Authenticator = (*Open)(nil)

// NewOpen makes the authenticator of an install without tokens.
func NewOpen(s identity.CallerStore, name string) *Open { return &Open{store: s, name: name} }

// Authenticate implements identity.Authenticator; whatever token is presented, it is not looked at. Where nobody has
// the account's name any more, the caller is an admin without an account.
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

// Account implements identity.Authenticator; whatever account is named, it is the caller of Authenticate.
func (o *Open) Account(ctx context.Context, _, _ string) (identity.Principal, error) {
	return o.Authenticate(ctx, "")
}
