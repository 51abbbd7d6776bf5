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
	store    identity.AccountStore
	tokens   identity.TokenStore
	hasher   identity.Hasher
	password identity.Password
}

var _ identity.Bootstrap = (*Bootstrap)(nil)

// NewBootstrap makes a bootstrap. The password becomes that of the first account, which has none if it is empty.
func NewBootstrap(
	k kernel.Kernel, s identity.AccountStore, t identity.TokenStore, h identity.Hasher, p identity.Password,
) *Bootstrap {
	return &Bootstrap{Kernel: k, store: s, tokens: t, hasher: h, password: p}
}

// EnsureAdmin makes the account. If several servers start at once on one database, one of them makes it and gets the
// secret.
func (b *Bootstrap) EnsureAdmin(ctx context.Context, mint bool) (string, error) {
	hash, err := b.hash(ctx)
	if err != nil {
		return "", err
	}
	var id, secret string
	err = b.Unit.Do(ctx, func(ctx context.Context) error {
		id, secret = "", ""
		n, err := b.store.CountAccounts(ctx)
		if err != nil || n > 0 {
			return err
		}
		id, secret, err = b.makeAdmin(ctx, hash, mint)
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

// hash returns the hash of the first password, empty for none and if an account exists already.
func (b *Bootstrap) hash(ctx context.Context) (string, error) {
	if b.password == "" {
		return "", nil
	}
	n, err := b.store.CountAccounts(ctx)
	if err != nil {
		return "", err
	}
	if n > 0 {
		b.Log.InfoContext(ctx, "accounts exist already: the first password (--admin-password-file) changes nothing")
		return "", nil
	}
	return b.hasher.Hash(ctx, b.password)
}

func (b *Bootstrap) makeAdmin(ctx context.Context, hash string, mint bool) (id, secret string, err error) {
	now := b.Clock.Now()
	admin := identity.Account{
		User:        identity.User{ID: b.IDs.New(ids.User), Username: AdminName, Role: identity.Admin, CreatedAt: now},
		HasPassword: hash != "", UpdatedAt: now, Revision: 1,
	}
	if err := b.store.InsertAccount(ctx, admin, hash); err != nil {
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
