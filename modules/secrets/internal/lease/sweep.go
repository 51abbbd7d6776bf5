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
	// batch is how many leases are taken at once, and batches how often a pass takes some.
	batch   = 50
	batches = 10
	// leaseTime is for how long a lease that was taken is left alone: longer than a batch takes, and long enough that
	// the attempts outlast an engine that is away for most of an hour.
	leaseTime = 5 * time.Minute
)

// Work returns the background work of the book, which has to end before End: it renews what owners hold, and unless
// sweep is false revokes what is left behind, which is leases whose owner is done with them, and those that could not
// be revoked at once.
func (b *Ledger) Work(sweep bool) background.Group {
	if !sweep {
		return background.Group{b.renewing}
	}
	return background.Group{b.renewing, {Name: "lease revocation", Every: every, Pass: b.Pass}}
}

// End revokes what only this process can revoke as far as ctx allows, and returns when no call of an engine is under
// way any more, or when ctx ends.
func (b *Ledger) End(ctx context.Context) error {
	b.Revoke(ctx, b.due(true))
	if err := b.Calls.Wait(ctx); err != nil {
		return fmt.Errorf("wait for the calls of secret engines: %w", err)
	}
	return nil
}

// Pass does the work once: what waits in this process, then what the store gives.
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

// revokeStored revokes a lease of the store and forgets it. One that failed too often is forgotten as well.
func (b *Ledger) revokeStored(ctx context.Context, l secrets.Lease) {
	attrs := []any{"lease", l.ID, "engine", l.Engine, "credential", l.CredentialID}
	message, err := b.tryStored(ctx, l)
	switch {
	case err == nil:
		b.drop(ctx, l.ID)
	case ctx.Err() != nil:
	case l.Attempts >= maxAttempts:
		b.Log.ErrorContext(ctx, "a minted secret was not revoked; it ends by itself", append(attrs, "attempts", l.Attempts, "err", message)...)
		b.drop(ctx, l.ID)
	default:
		b.Log.WarnContext(ctx, "a minted secret was not revoked; it is tried again", append(attrs, "attempts", l.Attempts, "err", message)...)
	}
}

// tryStored returns beside an error what may be told of it.
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
