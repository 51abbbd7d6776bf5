package treelog

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/ports/proof/tree"
	"github.com/writ-automation/writ/ports/tx"
)

// batch is how many tiles one unit writes: 256 KiB, made of 8,192 hashes.
const batch = 32

// Grow writes the full tiles of a tree of that size that are missing in the store, in units of bounded size. The size
// has to be committed, and ctx outside of a unit. Existing tiles stay, so it may be called twice and by two servers at
// once. Faults as of Root.
func (t *Tree) Grow(ctx context.Context, unit tx.Unit, size int64) error {
	for level := range uint(levels) {
		// Each level is built from the level below, which is complete.
		v, err := t.open(ctx, size)
		if err != nil {
			return err
		}
		full := v.size >> (height * (level + 1))
		for index := v.kept[level]; index < full; index += batch {
			n := min(batch, full-index)
			if err := t.write(ctx, unit, v, place{level: level, index: index}, n); err != nil {
				return fmt.Errorf("write tiles of level %d: %w", level, err)
			}
		}
	}
	return nil
}

// write builds n neighbouring tiles and stores them in one unit.
func (t *Tree) write(ctx context.Context, unit tx.Unit, v *view, at place, n uint64) error {
	made := make([][]byte, 0, n)
	for i := range n {
		row, err := v.row(ctx, place{level: at.level, index: at.index + i}, width)
		if err != nil {
			return err
		}
		made = append(made, pack(row))
	}
	return unit.Do(ctx, func(ctx context.Context) error {
		for i, hashes := range made {
			if err := t.tiles.PutTile(ctx, int64(at.level), int64(at.index)+int64(i), hashes); err != nil {
				return err
			}
		}
		return nil
	})
}

func pack(row []tree.Hash) []byte {
	out := make([]byte, 0, len(row)*len(tree.Hash{}))
	for _, h := range row {
		out = append(out, h[:]...)
	}
	return out
}
