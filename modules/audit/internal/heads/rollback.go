package heads

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof/disclosure"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// maxLost bounds how many epochs a restored store may have forgotten.
const maxLost = 64

// loss is what an accepted rollback gives up.
type loss struct {
	tip     audit.Tip
	kept    int64 // what remains of the open epoch
	root    tree.Hash
	largest install.Seen    // the largest head that the chain does not satisfy
	newest  int64           // number of the newest epoch that was seen
	within  map[int64]int64 // by epoch, the smallest head that the chain does not satisfy
	renew   bool            // this server's key signed what was seen, and the store has forgotten it
}

// Of the open epoch remains the present chain; where the chain did not only end too early but became another one,
// what remains is the largest head that it satisfies below those that it does not; so it does of epochs that were
// closed before and have such a head. The new epoch begins with the entry that tells of it, and tiles are made anew.
// Epochs that the store has forgotten are closed with it. A signed head of the new epoch follows, where this server
// has the key: without one no other server gives up what it saw. A reason that is empty or too long is Invalid.
func (k *Admin) AcceptRollback(ctx context.Context, reason string) (audit.Epoch, error) {
	if reason == "" || reason != disclosure.Fit(reason) {
		return audit.Epoch{}, fault.BadField("reason", "give a reason of at most %d bytes", disclosure.MaxValue)
	}
	lost, err := k.loss(ctx)
	if err != nil {
		return audit.Epoch{}, err
	}
	var made audit.Epoch
	err = k.p.Unit.Do(ctx, func(ctx context.Context) error {
		// Whoever takes both takes the install first, and the tip last.
		if _, err := k.s.Identity.Install(ctx); err != nil {
			return err
		}
		tip, _, err := k.s.Chain.Lock(ctx)
		if err != nil {
			return fmt.Errorf("hold the end of the audit trail: %w", err)
		}
		if tip != lost.tip {
			return fault.Wrap(fault.Unavailable, nil, "the audit trail grew meanwhile: stop every server and try again")
		}
		if err := k.s.Tiles.DropTiles(ctx); err != nil {
			return err
		}
		if made, err = k.reopen(ctx, lost, reason); err != nil {
			return err
		}
		return k.p.Recorder.Record(ctx, audit.Entry{
			Action: audit.ServiceEpoch, Object: audit.Object{Kind: "epoch", ID: fmt.Sprint(made.N)}, Text: reason,
			Detail: map[string]any{
				"reason": reason, "epoch": made.N, "kept_size": lost.kept, "kept_root": text(lost.root),
				"old_epoch": lost.largest.Epoch, "old_size": lost.largest.Size, "old_root": text(lost.largest.Root),
			},
		})
	})
	if err != nil {
		return audit.Epoch{}, err
	}
	return made, k.vouch(ctx)
}

// vouch keeps a signed head of the new epoch, by which every server knows that the signing key is behind it. A server
// without that key can accept a rollback, but nobody else takes its word for it.
func (k *Admin) vouch(ctx context.Context) error {
	h, err := k.p.Install.Checkpoint(ctx)
	if audit.NoSigningKey.Is(err) {
		return nil
	}
	if err == nil {
		_, err = k.p.Install.Retain(ctx, h, 0)
	}
	if err == nil {
		err = k.p.Install.File(h)
	}
	if err != nil {
		return fmt.Errorf("the rollback is accepted, and no signed head says so yet; run this again: %w", err)
	}
	return nil
}

func text(h tree.Hash) string { return base64.StdEncoding.EncodeToString(h[:]) }

// loss finds what the chain does not satisfy. Faults: NotRolledBack where that is nothing, and those of Install.Seen.
func (k *Admin) loss(ctx context.Context) (loss, error) {
	tip, err := k.s.Chain.Tip(ctx)
	if err != nil {
		return loss{}, fmt.Errorf("read the end of the audit trail: %w", err)
	}
	seen, err := k.p.Install.Seen(ctx, tip.Size)
	if err != nil {
		return loss{}, err
	}
	l := loss{tip: tip, kept: tip.Size, within: make(map[int64]int64)}
	smallest, unmet := tip.Size+1, false
	for _, s := range seen {
		if s.Met {
			continue
		}
		if !unmet || s.Size > l.largest.Size {
			l.largest = s
		}
		smallest, unmet = min(smallest, s.Size), true
		if n, ok := l.within[s.Epoch]; !ok || s.Size < n {
			l.within[s.Epoch] = s.Size
		}
		l.newest, l.renew = max(l.newest, s.Epoch), l.renew || s.Forgotten
	}
	if !unmet {
		return loss{}, audit.NotRolledBack.New("the audit trail satisfies every head that was seen")
	}
	if smallest <= tip.Size {
		if l.kept, err = k.p.Install.Satisfied(ctx, smallest-1); err != nil {
			return loss{}, err
		}
		for _, s := range seen {
			if s.Met && s.Size < smallest {
				l.kept = max(l.kept, s.Size)
			}
		}
	}
	// Tiles may be of the chain that is gone.
	if l.root, err = k.p.Tree.Bare().Root(ctx, l.kept); err != nil {
		return loss{}, fmt.Errorf("the root of %d entries: %w", l.kept, err)
	}
	return l, nil
}

// reopen closes the open epoch and those that the store has forgotten, and begins the next one.
func (k *Admin) reopen(ctx context.Context, l loss, reason string) (audit.Epoch, error) {
	id, err := k.p.Install.Identity(ctx)
	if err != nil {
		return audit.Epoch{}, err
	}
	if l.newest-id.Epoch.N > maxLost {
		return audit.Epoch{}, fault.Wrap(fault.Conflict, nil, "the head that was seen is of epoch %d, and this is %d", l.newest, id.Epoch.N)
	}
	// A worker may show a head of an epoch that was closed before, and that was thought to remain.
	for _, e := range id.Epochs {
		if smallest, ok := l.within[e.N]; ok && e.Closed && smallest <= e.LastSize {
			e.LastSize, e.LastRoot = l.kept, l.root
			if err := k.s.Identity.PutEpoch(ctx, e); err != nil {
				return audit.Epoch{}, err
			}
		}
	}
	e := id.Epoch
	for n := e.N; ; n++ {
		e.Closed, e.LastSize, e.LastRoot = true, l.kept, l.root
		if err := k.s.Identity.PutEpoch(ctx, e); err != nil {
			return audit.Epoch{}, err
		}
		origin, err := install.OriginOf(id.Epoch.Origin, n+1)
		if err != nil {
			return audit.Epoch{}, err
		}
		e = audit.Epoch{N: n + 1, Origin: origin, FirstSeq: l.tip.Size + 1, Reason: reason}
		if n >= l.newest {
			break
		}
		e.Reason = "forgotten by a restored store"
	}
	if l.renew {
		if err := k.p.Install.Renew(ctx, l.tip.Size); err != nil {
			return audit.Epoch{}, err
		}
	}
	return e, k.s.Identity.PutEpoch(ctx, e)
}
