package treelog

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// Tree reads the nodes of the tree from stored tiles, and from the leaves of the chain if a tile is missing. Without
// tiles it is slower, with the same results. It is safe for concurrent use; a call holds a few tiles in memory,
// whatever the size of the tree.
type Tree struct {
	chain audit.ChainReader
	tiles audit.TileStore
}

// New returns the tree of a chain.
func New(chain audit.ChainReader, tiles audit.TileStore) *Tree {
	return &Tree{chain: chain, tiles: tiles}
}

// Bare returns the same tree without its tiles, for the time in which the tiles may belong to another chain.
func (t *Tree) Bare() *Tree { return &Tree{chain: t.chain, tiles: none{}} }

// none is a tile store without tiles.
type none struct{ audit.TileStore }

func (none) TileCount(context.Context, int64) (int64, error)    { return 0, nil }
func (none) Tile(context.Context, int64, int64) ([]byte, error) { return nil, nil }

// Root returns the root of the tree over the first size entries. Faults: EntryNotFound for a size beyond the chain,
// Broken for entries that do not follow each other or that have a wrong stored hash.
func (t *Tree) Root(ctx context.Context, size int64) (tree.Hash, error) {
	r, err := t.Frontier(ctx, size)
	return r.Root(), err
}

// Frontier returns the right edge of the tree over the first size entries, to which leaves can be added. Faults as of
// Root.
func (t *Tree) Frontier(ctx context.Context, size int64) (tree.Range, error) {
	v, err := t.open(ctx, size)
	if err != nil {
		return tree.Range{}, err
	}
	return tree.Resume(ctx, v, v.size)
}

// Inclusion returns the proof that the entry with this sequence number is in the tree of that size. Faults as of
// Root, and EntryNotFound for a number beyond the size.
func (t *Tree) Inclusion(ctx context.Context, seq, size int64) ([]tree.Hash, error) {
	if seq < 1 || seq > size {
		return nil, audit.EntryNotFound.New("the first %d entries have none of the number %d", size, seq)
	}
	v, err := t.open(ctx, size)
	if err != nil {
		return nil, err
	}
	return tree.Inclusion(ctx, v, uint64(seq-1), v.size)
}

// Consistency returns the proof that the tree of that size begins with the one of size from. It is empty where from
// is 0 or size. Faults as of Root, and EntryNotFound where from is beyond size.
func (t *Tree) Consistency(ctx context.Context, from, size int64) ([]tree.Hash, error) {
	if from < 0 || from > size {
		return nil, audit.EntryNotFound.New("a tree of %d entries does not begin with one of %d", size, from)
	}
	v, err := t.open(ctx, size)
	if err != nil {
		return nil, err
	}
	return tree.Consistency(ctx, v, uint64(from), v.size)
}

// Leaves calls fn with the leaf hashes of the entries from..to, ascending. Faults as of Root. An error of fn ends it.
func (t *Tree) Leaves(ctx context.Context, from, to int64, fn func(e *audit.Stored, hash tree.Hash) error) error {
	next := from
	err := t.chain.Range(ctx, from, to, false, func(e *audit.Stored) error {
		hash, err := check(e, next)
		if err != nil {
			return err
		}
		next++
		return fn(e, hash)
	})
	switch {
	case err != nil:
		return fmt.Errorf("read entries %d to %d: %w", from, to, err)
	case next <= to:
		return missing(next, 0)
	}
	return nil
}

// levels is how many levels of tiles a tree of MaxSize leaves has.
const levels = 7

// open looks up which tiles are stored. No tile is removed while the chain grows.
func (t *Tree) open(ctx context.Context, size int64) (*view, error) {
	if size < 0 || size > tree.MaxSize {
		return nil, fault.Wrap(fault.Internal, nil, "a tree has no size of %d", size)
	}
	v := &view{from: t, size: uint64(size), known: make(map[place][]tree.Hash)}
	for level := range uint(levels) {
		full := v.size >> (height * (level + 1))
		if full == 0 {
			break
		}
		n, err := t.tiles.TileCount(ctx, int64(level))
		if err != nil {
			return nil, fmt.Errorf("count tiles: %w", err)
		}
		v.kept[level] = min(uint64(max(n, 0)), full)
	}
	return v, nil
}
