package audit

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// Opening prepares the install for signing heads of its chain.
type Opening struct {
	keys   Keys
	stored audit.IdentityStore
	who    *install.Install
}

// Open prepares a starting server. The first server of an install makes the signing key and begins the chain; each
// server compares the chain with the heads that it saw before, and refuses an older chain with audit.RolledBack.
func (o *Opening) Open(ctx context.Context) error {
	if err := o.load(ctx, true); err != nil {
		return err
	}
	return o.who.Open(ctx)
}

// Join prepares a command next to a server: it uses the existing key and begins nothing.
func (o *Opening) Join(ctx context.Context) error { return o.load(ctx, false) }

// load adopts the signing key. If no key is registered yet and it is allowed to, it makes one. The key is durable
// before the first signature.
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

// statusOf returns the status of a run, empty for a deleted one.
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
