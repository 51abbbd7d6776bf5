package heads

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/execution"
)

// look compares notes with the chain. A note with an unknown result does not keep the others from being checked.
func (h *Heads) look(ctx context.Context, worker string, notes []string) error {
	visible, err := h.p.Install.Presented(ctx)
	if err != nil {
		return fmt.Errorf("compare heads with the audit trail: %w", err)
	}
	var foreign, failed error
	for _, note := range notes {
		held, err := visible.Validate(ctx, note)
		switch {
		case install.Foreign(err):
			foreign = audit.ForeignHead.New("a head is not of this install").Because(err)
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
			failed = errors.Join(failed, fmt.Errorf("compare a head of %d entries with the audit trail: %w", held.Size, err))
			continue
		}
		h.note(note, sight{unmet: !held.Abandoned && !held.Met})
	}
	return errors.Join(failed, foreign)
}

// confirm stores a satisfied head, at most once per interval.
func (h *Heads) confirm(ctx context.Context, worker string, held install.Held) error {
	if due, err := h.due(ctx, held); err != nil || !due {
		return err
	}
	return h.p.Unit.Do(ctx, func(ctx context.Context) error {
		if _, err := h.p.Identity.Install(ctx); err != nil { // serializes servers
			return err
		}
		due, err := h.due(ctx, held)
		if err != nil || !due {
			return err
		}
		return h.p.Anchors.PutAnchor(ctx, h.anchor(worker, held))
	})
}

// due reports whether a head is larger than every head of its epoch that workers showed, and the newest of those is
// old enough.
func (h *Heads) due(ctx context.Context, held install.Held) (bool, error) {
	newest, err := h.p.Anchors.FindAnchors(ctx, audit.AnchorFilter{Kind: audit.KindWorker, Epoch: held.Epoch, Limit: 1})
	if err != nil || len(newest) == 0 {
		return err == nil, err
	}
	a := newest[0]
	return held.Size > a.Size && !within(a.MadeAt, h.p.Clock.Now(), h.p.Apart), nil
}

func (h *Heads) anchor(worker string, held install.Held) audit.Anchor {
	a := h.p.Install.Anchor(install.Head{Epoch: held.Epoch, Size: held.Size, Root: held.Root, Note: held.Note},
		audit.KindWorker)
	a.Source = execution.ShownName(worker)
	return a
}

// same bounds the rows of one size that are searched for a head.
const same = 64

// accuse stores a head that the chain does not satisfy and records it once. The state of the chain at that time is
// stored as evidence, so the head is found whatever the chain becomes later.
func (h *Heads) accuse(ctx context.Context, worker string, held install.Held, visible *install.Presented) error {
	a := h.anchor(worker, held)
	a.Evidence = fmt.Appendf(nil, `{"size":%d}`, visible.Size)
	var kept bool
	err := h.p.Unit.Do(ctx, func(ctx context.Context) error {
		kept = false
		if _, err := h.p.Identity.Install(ctx); err != nil { // serializes servers
			return err
		}
		epochs, err := h.p.Identity.Epochs(ctx)
		if err != nil || !slices.Equal(epochs, visible.Epochs) {
			return err // a rollback was accepted: a later report is checked anew
		}
		there, err := h.p.Anchors.FindAnchors(ctx, audit.AnchorFilter{
			Kind: audit.KindWorker, Epoch: held.Epoch, UpTo: held.Size, Evidence: true, Limit: same,
		})
		if err != nil {
			return err
		}
		for i := range there {
			// A row with a changed note does not count as the same head: it may no longer prove anything.
			if there[i].Size == held.Size && there[i].Root == held.Root && there[i].Note == held.Note {
				return nil
			}
		}
		kept = true
		return h.p.Anchors.PutAnchor(ctx, a)
	})
	if err == nil && kept {
		h.p.Log.ErrorContext(ctx,
			"a worker has a head that the audit trail does not extend: the database was restored from a copy or changed",
			"worker", a.Source, "epoch", held.Epoch, "size", held.Size, "chain_size", visible.Size, "anchor", a.ID,
			"fix", "run writ audit verify --db; the next start is refused until writ audit accept-rollback")
	}
	return err
}
