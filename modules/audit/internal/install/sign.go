package install

import (
	"context"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// Head is a signed head.
type Head struct {
	Epoch int64
	Size  int64
	Root  tree.Hash
	Note  string
}

// Checkpoint signs the head of the committed chain. Call it outside of a unit. Faults: NoSigningKey; Unsatisfied if
// the chain does not continue the signed heads; Broken if its newest entries do not follow each other. In these cases
// nothing is signed.
func (i *Install) Checkpoint(ctx context.Context) (Head, error) {
	i.signing.Lock()
	defer i.signing.Unlock()
	h, err := i.checkpoint(ctx)
	for n := 1; n < signings && audit.NoSigningKey.Is(err); n++ {
		// Another process may have rotated the keys between two reads. The next read sees the rotation.
		h, err = i.checkpoint(ctx)
	}
	return h, err
}

// signings bounds the attempts to sign a head while keys are being rotated.
const signings = 3

func (i *Install) checkpoint(ctx context.Context) (Head, error) {
	// The tip is read first: every change of the keys or the epoch has an entry, so they are at least as new as the
	// tip.
	tip, err := i.p.Chain.Tip(ctx)
	if err != nil {
		return Head{}, fmt.Errorf("read the end of the audit trail: %w", err)
	}
	id, err := i.Identity(ctx)
	if err != nil {
		return Head{}, err
	}
	signer, by, err := i.signer(ctx, id, tip.Size)
	if err != nil {
		return Head{}, err
	}
	if i.last.Note != "" && i.last.Epoch != id.Epoch.N {
		i.last, i.frontier, i.tip = Head{}, tree.Range{}, tree.Hash{} // the epoch before may have ended at a smaller size
	}
	if i.last.Note != "" && i.last.Size == tip.Size && i.by == by && i.tip == tip.Hash {
		return i.last, nil
	}
	edge, err := i.grown(ctx, id, tip)
	if err != nil {
		return Head{}, err
	}
	root := edge.Root()
	if err := i.agrees(ctx, id, tip.Size, root); err != nil {
		return Head{}, err
	}
	note, err := checkpoint.Sign(checkpoint.Body{Origin: id.Epoch.Origin, Size: tip.Size, Root: root}, signer)
	if err != nil {
		return Head{}, fmt.Errorf("sign a head: %w", err)
	}
	i.last = Head{Epoch: id.Epoch.N, Size: tip.Size, Root: root, Note: string(note)}
	i.frontier, i.tip, i.by = edge, tip.Hash, by
	return i.last, nil
}

// signer returns the checkpoint key, which has to be valid for the size.
func (i *Install) signer(ctx context.Context, id Identity, size int64) (keys.Signer, string, error) {
	own, err := i.current(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, k := range id.Keys {
		if k.ID != own.checkpointID {
			continue
		}
		if err := k.Admit(size); err != nil {
			return nil, "", audit.NoSigningKey.New("the signing key of this server may not sign a head of %d entries", size).
				Because(err)
		}
		return own.checkpoint, own.checkpointID, nil
	}
	return nil, "", audit.NoSigningKey.New("the signing key of this server was registered after entry %d", size)
}

// grown returns the right edge of the tree at the tip, extended from the last signed one, or from the newest stored one
// if this process has signed none. What an edge is extended by is linked to the tip by hashes, and what it is extended
// from was signed. So entries that somebody changes during one read and restores before the next are never signed.
func (i *Install) grown(ctx context.Context, id Identity, tip audit.Tip) (tree.Range, error) {
	size, edge, before := i.last.Size, i.frontier, i.tip
	if i.last.Note == "" {
		var err error
		if size, edge, before, err = i.resume(ctx, id, tip.Size); err != nil {
			return tree.Range{}, err
		}
	} else if tip.Size < size || tip.Size == size && tip.Hash != before {
		return tree.Range{}, unsatisfied(tip.Size, "the head that this server signed", size)
	}
	err := i.p.Tree.Leaves(ctx, size+1, tip.Size, func(e *audit.Stored, hash tree.Hash) error {
		l, err := leaf.Scan([]byte(e.Leaf))
		if err != nil || l.Prev != before || l.Seq != e.Seq {
			return audit.Broken.New("entry %d does not follow the one before it", e.Seq).With("broke_at", e.Seq).
				With("broke_seq", e.Seq)
		}
		edge.Append(hash)
		before = hash
		return nil
	})
	if err != nil {
		return tree.Range{}, err
	}
	return edge, ends(before, tip)
}

// resume returns the right edge and the last hash of the tree of the newest stored head that is not larger than the
// chain. Without such a head the tree is empty.
func (i *Install) resume(ctx context.Context, id Identity, upTo int64) (
	size int64, edge tree.Range, last tree.Hash, err error,
) {
	kept, err := i.p.Anchors.NewestAnchors(ctx, audit.KindCheckpoint, looked)
	if err != nil {
		return 0, edge, last, fmt.Errorf("read kept heads: %w", err)
	}
	n := slices.IndexFunc(kept, func(a audit.Anchor) bool { return a.Size <= upTo && !id.Closed(a.Epoch, a.Size) })
	if n < 0 || kept[n].Size == 0 {
		return 0, edge, last, nil
	}
	size = kept[n].Size
	if edge, err = i.p.Tree.Frontier(ctx, size); err != nil {
		return 0, edge, last, err
	}
	if edge.Root() != kept[n].Root {
		return 0, edge, last, unsatisfied(upTo, "the kept head "+kept[n].ID, size)
	}
	err = i.p.Tree.Leaves(ctx, size, size, func(_ *audit.Stored, hash tree.Hash) error {
		last = hash
		return nil
	})
	return size, edge, last, err
}

func ends(hash tree.Hash, tip audit.Tip) error {
	if hash != tip.Hash {
		return audit.Broken.New("the audit trail does not end with the hash of entry %d", tip.Size).
			With("broke_at", tip.Size).With("broke_seq", tip.Size)
	}
	return nil
}

func unsatisfied(size int64, what string, seen int64) error {
	return audit.Unsatisfied.New("the audit trail of %d entries does not continue %s, which has %d", size, what, seen).
		With("size", size).With("seen_size", seen)
}

// agrees compares a head with the newest stored ones. Other servers may have stored larger ones meanwhile: then the
// chain has grown since the tip was read.
func (i *Install) agrees(ctx context.Context, id Identity, size int64, root tree.Hash) error {
	kept, err := i.p.Anchors.NewestAnchors(ctx, audit.KindCheckpoint, looked)
	if err != nil {
		return fmt.Errorf("read kept heads: %w", err)
	}
	for _, a := range kept {
		if id.Closed(a.Epoch, a.Size) {
			continue
		}
		switch {
		case a.Size > size:
			tip, err := i.p.Chain.Tip(ctx)
			if err != nil {
				return fmt.Errorf("read the end of the audit trail: %w", err)
			}
			if a.Size > tip.Size {
				return unsatisfied(tip.Size, "the kept head "+a.ID, a.Size)
			}
			continue
		case a.Size < size:
			if root, err = i.p.Tree.Root(ctx, a.Size); err != nil {
				return fmt.Errorf("the root of %d entries: %w", a.Size, err)
			}
		}
		if a.Root != root {
			return unsatisfied(size, "the kept head "+a.ID, a.Size)
		}
		return nil
	}
	return nil
}
