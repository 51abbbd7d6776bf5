package access

import (
	"context"

	"github.com/writ-automation/writ/modules/identity/internal/token"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

const (
	// adminName is the account of a fresh install.
	adminName = "admin"
	// firstToken is the name of its token.
	firstToken = "first start"
)

// Bootstrap makes a fresh install usable.
type Bootstrap struct {
	store identity.Store
	unit  tx.Unit
	clock clock.Clock
	ids   ids.Generator
}

var _ identity.Bootstrap = (*Bootstrap)(nil)

// NewBootstrap makes a bootstrap.
func NewBootstrap(s identity.Store, u tx.Unit, c clock.Clock, g ids.Generator) *Bootstrap {
	return &Bootstrap{store: s, unit: u, clock: c, ids: g}
}

// EnsureAdmin implements identity.Bootstrap. Of several servers that start at once on one database, one makes the
// account and gets the secret.
func (b *Bootstrap) EnsureAdmin(ctx context.Context, mint bool) (string, error) {
	var secret string
	err := b.unit.Do(ctx, func(ctx context.Context) error {
		secret = ""
		n, err := b.store.CountUsers(ctx)
		if err != nil || n > 0 {
			return err
		}
		secret, err = b.makeAdmin(ctx, mint)
		return err
	})
	if fault.Is(err, fault.Conflict) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return secret, nil
}

func (b *Bootstrap) makeAdmin(ctx context.Context, mint bool) (string, error) {
	admin := identity.User{ID: b.ids.New(ids.User), Username: adminName, Role: identity.Admin, CreatedAt: b.clock.Now()}
	if err := b.store.InsertUser(ctx, admin); err != nil || !mint {
		return "", err
	}
	t, secret := issue(ctx, b.clock, b.ids, firstToken, admin.ID, 0)
	return secret, b.store.InsertToken(ctx, t, token.Hash(secret))
}
