package heads

import (
	"context"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/modules/audit/internal/treelog"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/tx"
)

// AdminParams holds the dependencies of a Keeper.
type AdminParams struct {
	Install  *install.Install
	Stores   AdminStores
	Tree     *treelog.Tree
	Recorder audit.Recorder
	Unit     tx.Unit
	Clock    clock.Clock
}

// AdminStores holds the stores of the trail.
type AdminStores struct {
	Chain    audit.ChainStore
	Identity audit.IdentityStore
	Anchors  audit.AnchorStore
	Tiles    audit.TileStore
}

// Admin changes anchors, keys and epochs, and erases private values. It is safe for concurrent use.
type Admin struct {
	p AdminParams
	s AdminStores
}

var _ audit.Admin = (*Admin)(nil)

// NewAdmin returns a keeper.
func NewAdmin(p AdminParams) *Admin {
	return &Admin{p: p, s: p.Stores}
}

var legalCode = lazyregexp.New(`^[a-z0-9_.-]{1,64}$`)

// maxErased bounds the entries of one erasure, since the entry of the erasure lists them.
const maxErased = 10_000

// An Invalid fault names seqs or ground.
func (k *Admin) Erase(ctx context.Context, seqs []int64, ground string) error {
	switch {
	case len(seqs) == 0 || len(seqs) > maxErased:
		return fault.BadField("seqs", "name 1 to %d entries", maxErased)
	case !legalCode.MatchString(ground):
		return fault.BadField("ground", "give a legal code such as gdpr_17")
	}
	seqs = slices.Clone(seqs)
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	return k.p.Unit.Do(ctx, func(ctx context.Context) error {
		tip, err := k.s.Chain.Tip(ctx)
		if err != nil {
			return fmt.Errorf("read the end of the audit trail: %w", err)
		}
		for _, seq := range seqs {
			if seq < 1 || seq > tip.Size {
				return audit.EntryNotFound.New("the audit trail has no entry %d", seq)
			}
		}
		if err := k.s.Chain.Erase(ctx, seqs); err != nil {
			return fmt.Errorf("erase private parts: %w", err)
		}
		return k.p.Recorder.Record(ctx, audit.Entry{
			Action: audit.AuditErase, Detail: map[string]any{"ground": ground, "seqs": seqs},
		})
	})
}

func (k *Admin) Keys(ctx context.Context) ([]audit.PublicKey, error) {
	return k.s.Identity.Keys(ctx)
}
