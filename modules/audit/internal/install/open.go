package install

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/proof/keys"
)

// Open prepares the install at the start of a server. In one unit it creates what is missing: an id, a first epoch,
// the first entry of the chain, and public keys. Only the first of several servers does so. Then it compares the chain
// with the heads that were seen before, see Seen.
//
// A chain that does not satisfy one of them is RolledBack. An unreadable signing key, an unreadable head file and a
// head file of another install are errors. If this server's key is not the install's key, Open logs a warning.
func (i *Install) Open(ctx context.Context) error {
	own, err := i.pair()
	if err != nil {
		return fmt.Errorf("read the signing key: %w", err)
	}
	if err := i.p.Unit.Do(ctx, i.found); err != nil {
		return fmt.Errorf("open the audit trail: %w", err)
	}
	stored, err := i.p.Identity.Keys(ctx)
	if err != nil {
		return fmt.Errorf("read the public keys: %w", err)
	}
	_, refused := i.usable(stored)
	i.mu.Lock()
	i.ready = refused == nil
	i.mu.Unlock()
	if refused != nil {
		i.p.Log.WarnContext(ctx, "this server cannot sign heads, receipts and bundles of the audit trail", "why", refused,
			"has_key", own != nil, "fix", fixOf(own != nil))
	}
	return i.checkSeen(ctx)
}

// fixOf returns the advice for a server without the install's key.
func fixOf(hasKey bool) string {
	fix := "copy signing.key from a server that signs, or from its offline copy"
	if hasKey {
		fix = "if a rotation of the key was interrupted, rename signing.key.previous to signing.key; otherwise " + fix
	}
	return fix + ", and start again"
}

// found creates the missing parts of the install.
func (i *Install) found(ctx context.Context) error {
	id, err := i.p.Identity.Install(ctx)
	if err != nil {
		return err
	}
	if id == "" {
		id = i.p.IDs.New(ids.Install)
		if err := i.p.Identity.SetInstall(ctx, id); err != nil {
			return err
		}
	}
	epochs, err := i.p.Identity.Epochs(ctx)
	if err != nil {
		return err
	}
	if len(epochs) == 0 {
		origin, err := keys.Origin(i.p.Config.Site, id, 1)
		if err != nil {
			return fmt.Errorf("the site name %q makes no origin: %w", i.p.Config.Site, err)
		}
		if err := i.p.Identity.PutEpoch(ctx, audit.Epoch{N: 1, Origin: origin, FirstSeq: 1}); err != nil {
			return err
		}
	}
	stored, err := i.p.Identity.Keys(ctx)
	if err != nil {
		return err
	}
	if own, _ := i.pair(); len(stored) == 0 && own != nil {
		if err := i.register(ctx, own, 0); err != nil {
			return err
		}
	}
	tip, err := i.p.Chain.Tip(ctx)
	if err != nil || tip.Size > 0 {
		return err
	}
	return i.p.Recorder.Record(ctx, audit.Entry{Action: audit.ServiceGenesis,
		Object: audit.Object{Kind: "install", ID: id}})
}

// register makes a server's keys active from a size on, without a handover.
func (i *Install) register(ctx context.Context, own *pair, first int64) error {
	for _, k := range own.public() {
		k.Status, k.FirstSize, k.NotBefore = string(keys.Active), first, i.p.Clock.Now()
		if err := i.p.Identity.PutKey(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// public returns the public keys, the checkpoint key first.
func (p *pair) public() []audit.PublicKey {
	return []audit.PublicKey{
		{KID: p.checkpointID, Use: string(keys.Checkpoint), Public: p.checkpoint.Public()},
		{KID: p.statementID, Use: string(keys.Statement), Public: p.statement.Public()},
	}
}
