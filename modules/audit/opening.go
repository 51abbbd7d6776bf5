package audit

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// Opening makes the install ready to speak for its chain.
type Opening struct {
	keys   Keys
	stored audit.IdentityStore
	who    *install.Install
}

// Open is the start of a server. The first one of an install makes its signing key and begins the chain; each
// compares the chain with the heads that it saw before, and refuses one that is behind: audit.RolledBack.
func (o *Opening) Open(ctx context.Context) error {
	if err := o.load(ctx, true); err != nil {
		return err
	}
	return o.who.Open(ctx)
}

// Join is the start of a command beside a server: it takes the key that there is and begins nothing.
func (o *Opening) Join(ctx context.Context) error { return o.load(ctx, false) }

// load adopts the signing key. Where nobody has registered one yet it makes one, if it may. The key is durable before
// anything is signed with it.
func (o *Opening) load(ctx context.Context, first bool) error {
	if o.keys == nil {
		return nil
	}
	pem, err := o.keys.Load()
	if err != nil {
		return fmt.Errorf("read the signing key: %w", err)
	}
	if len(pem) == 0 && first {
		registered, err := o.stored.Keys(ctx)
		if err != nil {
			return fmt.Errorf("read the public keys: %w", err)
		}
		if len(registered) > 0 {
			return nil
		}
		if pem, err = install.GenerateKeys(); err != nil {
			return err
		}
		if err := o.keys.Save(pem); err != nil {
			return fmt.Errorf("keep the signing key: %w", err)
		}
	}
	if len(pem) == 0 {
		return nil
	}
	if err := o.who.Adopt(pem); err != nil {
		return fmt.Errorf("read the signing key: %w", err)
	}
	return nil
}

// statusOf tells the status of a run, empty for one that is gone.
func statusOf(store runs.Store) func(context.Context, string) (string, error) {
	if store == nil {
		return nil
	}
	return func(ctx context.Context, id string) (string, error) {
		r, err := store.ByID(ctx, id)
		if fault.Is(err, fault.NotFound) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		return string(r.Status), nil
	}
}
