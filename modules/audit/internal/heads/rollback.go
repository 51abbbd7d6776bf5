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
	"github.com/writ-automation/writ/ports/tx"
)

// maxLost bounds how many epochs a restored store may lack.
const maxLost = 64

// loss describes the heads that an accepted rollback abandons.
type loss struct {
	tip     audit.Tip
	kept    int64 // size of the open epoch that stays valid
	root    tree.Hash
	largest install.Seen    // the largest head that the chain does not satisfy
	newest  int64           // number of the newest epoch among the seen heads
	within  map[int64]int64 // by epoch, the smallest head that the chain does not satisfy
	renew   bool            // whether this server's key signed a seen head but is missing in the store
}

// The open epoch keeps the current chain. If the chain was rewritten and not only cut, the epoch keeps the largest
// satisfied head below the unsatisfied ones. The same holds for closed epochs with an unsatisfied head. The new epoch
// begins with the entry of the rollback, and tiles are rebuilt. Epochs that are missing in the store are closed with
// it. If this server has the signing key, it then signs a head of the new epoch: without that head no other server
// abandons the heads that it saw. An empty or too long reason is an Invalid fault.
func (k *Admin) AcceptRollback(ctx context.Context, reason string) (audit.Epoch, error) {
	if reason == "" || reason != disclosure.Fit(reason) {
		return audit.Epoch{}, fault.BadField("reason", "give a reason of at most %d bytes", disclosure.MaxValue)
	}
	lost, err := k.loss(ctx)
	if err != nil {
		return audit.Epoch{}, err
	}
	var made audit.Epoch
	err = k.p.Unit.Do(tx.Alone(ctx), func(ctx context.Context) error {
		// The lock order is: the install first, the tip last.
		if _, err := k.s.Identity.Install(ctx); err != nil {
			return err
		}
		tip, _, err := k.s.Chain.Lock(ctx)
		if err != nil {
			return fmt.Errorf("lock the end of the audit trail: %w", err)
		}
		if tip != lost.tip {
			return fault.Wrap(fault.Unavailable, nil, "the audit trail has just grown: stop every server and try again")
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

// vouch stores a signed head of the new epoch, which shows other servers that the owner of the signing key accepted
// the rollback. A server without the key can accept a rollback too, but other servers then ignore it.
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
		return fmt.Errorf("the rollback is accepted, but no signed head records it yet; run this again: %w", err)
	}
	return nil
}

func text(h tree.Hash) string { return base64.StdEncoding.EncodeToString(h[:]) }

// loss finds the heads that the chain does not satisfy. Faults: NotRolledBack if there are none, and those of
// Install.Seen.
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
		return loss{}, audit.NotRolledBack.New("the audit trail satisfies every recorded head")
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
	// The tiles may belong to the lost chain.
	if l.root, err = k.p.Tree.Bare().Root(ctx, l.kept); err != nil {
		return loss{}, fmt.Errorf("the root of %d entries: %w", l.kept, err)
	}
	return l, nil
}

// reopen closes the open epoch and those that are missing in the store, and begins the next one.
func (k *Admin) reopen(ctx context.Context, l loss, reason string) (audit.Epoch, error) {
	id, err := k.p.Install.Identity(ctx)
	if err != nil {
		return audit.Epoch{}, err
	}
	if l.newest-id.Epoch.N > maxLost {
		return audit.Epoch{}, fault.Wrap(fault.Conflict, nil, "the recorded head is of epoch %d, and this is %d",
			l.newest, id.Epoch.N)
	}
	// A worker may show a head of an epoch that was closed earlier and counted as satisfied.
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
		e.Reason = "missing in a restored database"
	}
	if l.renew {
		if err := k.p.Install.Renew(ctx, l.tip.Size); err != nil {
			return audit.Epoch{}, err
		}
	}
	return e, k.s.Identity.PutEpoch(ctx, e)
}
