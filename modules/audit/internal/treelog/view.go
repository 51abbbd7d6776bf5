package treelog

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

const (
	height = 8 // levels of the tree in one level of tiles
	width  = tree.TileWidth
	// held bounds the rows in a view's cache: 8 KiB each. A proof reads fewer.
	held = 64
)

// place names a tile, full or not.
type place struct {
	level uint
	index uint64
}

// view is the tree at one size, for one call.
type view struct {
	from  *Tree
	size  uint64
	kept  [levels]uint64 // by level, the number of stored full tiles
	known map[place][]tree.Hash
}

var _ tree.Source = (*view)(nil)

func (v *view) Hashes(ctx context.Context, nodes []tree.Node) ([]tree.Hash, error) {
	out := make([]tree.Hash, len(nodes))
	for i, n := range nodes {
		tile, from, to, err := tree.TileOf(n, v.size)
		if err != nil {
			return nil, err
		}
		at := place{level: tile.Level, index: tile.Index}
		row, ok := v.known[at]
		if !ok {
			if row, err = v.row(ctx, at, tile.Width); err != nil {
				return nil, err
			}
			if len(v.known) < held {
				v.known[at] = row
			}
		}
		out[i] = fold(row[from:to])
	}
	return out, nil
}

// row returns the first count hashes of a tile.
func (v *view) row(ctx context.Context, at place, count int) ([]tree.Hash, error) {
	if at.index < v.kept[at.level] {
		// A tile that was dropped since it was counted is rebuilt.
		if hashes, err := v.from.tile(ctx, at); err != nil || hashes != nil {
			return hashes, err
		}
	}
	if at.level == 0 {
		return v.leaves(ctx, at.index*width, count)
	}
	out := make([]tree.Hash, 0, count)
	for i := range uint64(count) {
		below := place{level: at.level - 1, index: at.index*width + i}
		if below.level == 0 && below.index >= v.kept[0] {
			return v.bundles(ctx, out, below.index, count)
		}
		row, err := v.row(ctx, below, width)
		if err != nil {
			return nil, err
		}
		out = append(out, fold(row))
	}
	return out, nil
}

// leaves returns the hashes of count leaves from the zero-based index on.
func (v *view) leaves(ctx context.Context, index uint64, count int) ([]tree.Hash, error) {
	out := make([]tree.Hash, 0, count)
	if count == 0 {
		return out, nil
	}
	err := v.from.Leaves(ctx, int64(index)+1, int64(index)+int64(count), func(_ *audit.Stored, h tree.Hash) error {
		out = append(out, h)
		return nil
	})
	return out, err
}

// bundles completes a row of level 1 with the roots of bundles of leaves without a stored tile, in one read.
func (v *view) bundles(ctx context.Context, row []tree.Hash, index uint64, count int) ([]tree.Hash, error) {
	var r tree.Range
	first := int64(index * width)
	err := v.from.Leaves(ctx, first+1, first+int64(count-len(row))*width, func(_ *audit.Stored, h tree.Hash) error {
		if r.Append(h); r.Size() == width {
			row, r = append(row, r.Root()), tree.Range{}
		}
		return nil
	})
	return row, err
}

// tile reads a stored tile, or returns nil.
func (t *Tree) tile(ctx context.Context, at place) ([]tree.Hash, error) {
	raw, err := t.tiles.Tile(ctx, int64(at.level), int64(at.index))
	if err != nil {
		return nil, fmt.Errorf("read a tile: %w", err)
	}
	if raw == nil {
		return nil, nil
	}
	hashes, err := tree.Tile{Level: at.level, Index: at.index, Width: width}.Parse(raw)
	if err != nil {
		return nil, audit.Broken.New("tile %d of level %d has a wrong format", at.index, at.level).Because(err)
	}
	return hashes, nil
}

// fold returns the root over neighbouring nodes as if they were leaves.
func fold(hashes []tree.Hash) tree.Hash {
	if len(hashes) == 1 {
		return hashes[0]
	}
	var r tree.Range
	for _, h := range hashes {
		r.Append(h)
	}
	return r.Root()
}

// check checks the number of an entry and that its hash is the hash of its leaf.
func check(e *audit.Stored, seq int64) (tree.Hash, error) {
	if e.Seq != seq {
		return tree.Hash{}, missing(seq, e.Seq)
	}
	hash := leaf.HashText(e.Leaf)
	if hash != e.Hash {
		return tree.Hash{}, audit.Broken.New("entry %d does not have the hash that is stored beside it", seq).
			With("broke_at", seq).With("broke_seq", seq)
	}
	return hash, nil
}

func missing(seq, found int64) error {
	if found == 0 {
		return audit.EntryNotFound.New("the trail ends before entry %d", seq)
	}
	return audit.Broken.New("entry %d is missing, and %d is in its place", seq, found).With("broke_at", seq).
		With("broke_seq", found)
}
