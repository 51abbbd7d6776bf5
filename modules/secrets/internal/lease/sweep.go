package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/secrets"
)

const (
	// every is the pause between two passes.
	every = 10 * time.Second
	// batch bounds the leases that are claimed at once, and batches the claims of one pass.
	batch   = 50
	batches = 10
	// leaseTime is the time for which a claimed lease is left alone: longer than a batch needs, and long enough that
	// the attempts outlast an engine that is down for most of an hour.
	leaseTime = 5 * time.Minute
)

// Work returns the background work of the ledger, which has to end before End. It renews the secrets of owners. If
// sweep is true, it also revokes leases whose owner is done and leases that could not be revoked at once.
func (b *Ledger) Work(sweep bool) background.Group {
	if !sweep {
		return background.Group{b.renewing}
	}
	return background.Group{b.renewing, {Name: "lease revocation", Every: every, Pass: b.Pass}}
}

// End revokes what only this process can revoke, as far as ctx allows. It returns when no call of an engine is running
// any more, or when ctx ends.
func (b *Ledger) End(ctx context.Context) error {
	b.Revoke(ctx, b.due(true))
	if err := b.Calls.Wait(ctx); err != nil {
		return fmt.Errorf("wait for the calls of secret engines: %w", err)
	}
	return nil
}

// Pass runs one pass: first the pending entries of this process, then leases of the store.
func (b *Ledger) Pass(ctx context.Context) error {
	b.Revoke(ctx, b.due(false))
	for range batches {
		var rows []secrets.Lease
		bound, cancel := context.WithTimeout(ctx, storeTime)
		err := b.Unit.Do(bound, func(ctx context.Context) (err error) {
			rows, err = b.Store.TakeLeases(ctx, batch, leaseTime)
			return err
		})
		cancel()
		if err != nil {
			return err
		}
		each(rows, func(l secrets.Lease) { b.revokeStored(ctx, l) })
		if len(rows) < batch || ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// revokeStored revokes and deletes a lease of the store. A lease that failed too often is deleted too.
func (b *Ledger) revokeStored(ctx context.Context, l secrets.Lease) {
	attrs := []any{"lease", l.ID, "engine", l.Engine, "credential", l.CredentialID}
	message, err := b.tryStored(ctx, l)
	switch {
	case err == nil:
		b.drop(ctx, l.ID)
	case ctx.Err() != nil:
	case l.Attempts >= maxAttempts:
		b.Log.ErrorContext(ctx, "a minted secret was not revoked; it ends by itself",
			append(attrs, "attempts", l.Attempts, "err", message)...)
		b.drop(ctx, l.ID)
	default:
		b.Log.WarnContext(ctx, "a minted secret was not revoked; it is tried again",
			append(attrs, "attempts", l.Attempts, "err", message)...)
	}
}

// tryStored returns an error and its redacted text.
func (b *Ledger) tryStored(ctx context.Context, l secrets.Lease) (string, error) {
	revoker, ok := b.Engines[l.Engine].Minter.(extension.LeaseRevoker)
	if !ok {
		err := fmt.Errorf("this process has no engine %s that revokes", l.Engine)
		return err.Error(), err
	}
	what, err := b.open(ctx, l)
	if err != nil {
		return err.Error(), err
	}
	err = b.call(ctx, l.Engine, func(ctx context.Context) error {
		return revoker.RevokeLease(ctx, what.Config, what.Handle)
	}, func(err error) {
		if err == nil {
			b.drop(ctx, l.ID)
		}
	})
	return Redact(err, append(Texts(what.Config), what.Handle)...), err
}
