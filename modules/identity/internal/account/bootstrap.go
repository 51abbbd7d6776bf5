package account

import (
	"context"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/ports/object"

	"github.com/writ-automation/writ/modules/identity/internal/token"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
)

// AdminName is the name of the account of a fresh install.
const AdminName = "admin"

// Bootstrap implements identity.Bootstrap.
type Bootstrap struct {
	kernel.Kernel
	store  identity.AccountStore
	tokens identity.TokenStore
}

var _ identity.Bootstrap = (*Bootstrap)(nil)

// NewBootstrap makes a bootstrap.
func NewBootstrap(k kernel.Kernel, s identity.AccountStore, t identity.TokenStore) *Bootstrap {
	return &Bootstrap{Kernel: k, store: s, tokens: t}
}

// EnsureAdmin makes an account without a password. If several servers start at once on one database, one of them makes
// the account and gets the secret.
func (b *Bootstrap) EnsureAdmin(ctx context.Context, mint bool) (string, error) {
	var id, secret string
	err := b.Unit.Do(ctx, func(ctx context.Context) error {
		id, secret = "", ""
		n, err := b.store.CountAccounts(ctx)
		if err != nil || n > 0 {
			return err
		}
		id, secret, err = b.makeAdmin(ctx, mint)
		return err
	})
	if fault.Is(err, fault.Conflict) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if id != "" {
		b.Log.InfoContext(ctx, "account created", "account", id, "role", identity.Admin, "by", object.Author(ctx))
	}
	return secret, nil
}

func (b *Bootstrap) makeAdmin(ctx context.Context, mint bool) (id, secret string, err error) {
	now := b.Clock.Now()
	admin := identity.Account{
		User:      identity.User{ID: b.IDs.New(ids.User), Username: AdminName, Role: identity.Admin, CreatedAt: now},
		UpdatedAt: now, Revision: 1,
	}
	if err := b.store.InsertAccount(ctx, admin, ""); err != nil {
		return admin.ID, "", err
	}
	if err := b.Recorder.Record(ctx, created(admin)); err != nil || !mint {
		return admin.ID, "", err
	}
	t, secret := token.Issue(b.Kernel, identity.APIToken, token.FirstName, admin.ID, object.Author(ctx), 0)
	if err := b.tokens.InsertToken(ctx, t, token.Hash(secret)); err != nil {
		return admin.ID, "", err
	}
	return admin.ID, secret, b.Recorder.Record(ctx, token.Created(t))
}
