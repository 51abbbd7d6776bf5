package heads

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/ports/audit"
)

// look holds notes against the chain. One that nobody knows anything of does not keep the others from being looked at.
func (h *Heads) look(ctx context.Context, worker string, notes []string) error {
	visible, err := h.p.Install.Presented(ctx)
	if err != nil {
		return fmt.Errorf("hold heads against the audit trail: %w", err)
	}
	var foreign, failed error
	for _, note := range notes {
		held, err := visible.Validate(ctx, note)
		switch {
		case install.Foreign(err):
			foreign = audit.ForeignHead.New("a head is none of this install").Because(err)
			h.note(note, sight{foreign: foreign})
			continue
		case err != nil:
		case held.Abandoned:
		case held.Met:
			err = h.confirm(ctx, worker, held)
		default:
			err = h.accuse(ctx, worker, held, visible)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("hold a head of %d entries against the audit trail: %w", held.Size, err))
			continue
		}
		h.note(note, sight{unmet: !held.Abandoned && !held.Met})
	}
	return errors.Join(failed, foreign)
}

// confirm keeps a head that the chain satisfies, from time to time.
func (h *Heads) confirm(ctx context.Context, worker string, held install.Held) error {
	if due, err := h.due(ctx, held); err != nil || !due {
		return err
	}
	return h.p.Unit.Do(ctx, func(ctx context.Context) error {
		if _, err := h.p.Identity.Install(ctx); err != nil { // servers do this one after the other
			return err
		}
		due, err := h.due(ctx, held)
		if err != nil || !due {
			return err
		}
		return h.p.Anchors.PutAnchor(ctx, h.anchor(worker, held))
	})
}

// due reports whether a head is larger than each of its epoch that workers showed, and the newest of those is old
// enough.
func (h *Heads) due(ctx context.Context, held install.Held) (bool, error) {
	newest, err := h.p.Anchors.FindAnchors(ctx, audit.AnchorFilter{Kind: audit.KindWorker, Epoch: held.Epoch, Limit: 1})
	if err != nil || len(newest) == 0 {
		return err == nil, err
	}
	a := newest[0]
	return held.Size > a.Size && !within(a.MadeAt, h.p.Clock.Now(), h.p.Apart), nil
}

func (h *Heads) anchor(worker string, held install.Held) audit.Anchor {
	a := h.p.Install.Anchor(install.Head{Epoch: held.Epoch, Size: held.Size, Root: held.Root, Note: held.Note}, audit.KindWorker)
	a.Source = worker
	return a
}

// same bounds the rows of one size that are looked through for a head.
const same = 64

// accuse keeps a head that the chain does not satisfy, and tells of it once. What the chain was then is its evidence,
// by which it is found whatever the chain becomes.
func (h *Heads) accuse(ctx context.Context, worker string, held install.Held, visible *install.Presented) error {
	a := h.anchor(worker, held)
	a.Evidence = fmt.Appendf(nil, `{"size":%d}`, visible.Size)
	var kept bool
	err := h.p.Unit.Do(ctx, func(ctx context.Context) error {
		kept = false
		if _, err := h.p.Identity.Install(ctx); err != nil { // servers do this one after the other
			return err
		}
		epochs, err := h.p.Identity.Epochs(ctx)
		if err != nil || !slices.Equal(epochs, visible.Epochs) {
			return err // a rollback was accepted meanwhile: whoever shows the head again is judged by that
		}
		there, err := h.p.Anchors.FindAnchors(ctx, audit.AnchorFilter{
			Kind: audit.KindWorker, Epoch: held.Epoch, UpTo: held.Size, Evidence: true, Limit: same,
		})
		if err != nil {
			return err
		}
		for i := range there {
			// A row whose note somebody has changed is another one: it may no longer prove anything.
			if there[i].Size == held.Size && there[i].Root == held.Root && there[i].Note == held.Note {
				return nil
			}
		}
		kept = true
		return h.p.Anchors.PutAnchor(ctx, a)
	})
	if err == nil && kept {
		h.p.Log.ErrorContext(ctx, "a worker holds a head that the audit trail does not continue: its database was restored from a copy or changed",
			"worker", worker, "epoch", held.Epoch, "size", held.Size, "chain_size", visible.Size, "anchor", a.ID,
			"fix", "run writ audit verify --db; the next start is refused until writ audit accept-rollback")
	}
	return err
}
