package tree

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/transparency-dev/merkle/compact"
)

// levels is the number of levels of a tree of MaxSize leaves plus one, so that no append overflows the array.
const levels = 54

// Range is the right edge of a tree that begins at the first leaf: the state for appending and for the root. The zero
// value is the empty tree. It is a value: a copy is independent of the original, and equal trees compare equal with
// ==.
type Range struct {
	size uint64
	node [levels]Hash // by level, if the size has the bit of the level; else zero
}

// Size returns the number of leaves.
func (r *Range) Size() uint64 { return r.size }

// Append adds a leaf by its hash.
func (r *Range) Append(leaf Hash) { r.AppendVisit(leaf, nil) }

// AppendVisit adds a leaf by its hash and calls visit for each subtree that it completes, the leaf first.
func (r *Range) AppendVisit(leaf Hash, visit func(Node, Hash)) {
	h, level := leaf, uint(0)
	if visit != nil {
		visit(Node{Index: r.size}, h)
	}
	for ; r.size>>level&1 == 1; level++ {
		h = NodeHash(r.node[level], h)
		r.node[level] = Hash{}
		if visit != nil {
			visit(Node{Level: level + 1, Index: r.size >> (level + 1)}, h)
		}
	}
	r.node[level] = h
	r.size++
}

// Root returns the hash of the whole tree.
func (r *Range) Root() Hash {
	if r.size == 0 {
		return EmptyRoot()
	}
	rest := r.size
	level := bits.TrailingZeros64(rest)
	h := r.node[level]
	for rest &= rest - 1; rest != 0; rest &= rest - 1 {
		h = NodeHash(r.node[bits.TrailingZeros64(rest)], h)
	}
	return h
}

// rangeForm is the first byte of a stored range.
const rangeForm = 1

// MarshalBinary returns the stored form: a byte 1, the size in eight bytes, big-endian, and the hashes of the complete
// subtrees from the largest to the smallest. It fails only for a tree beyond MaxSize.
func (r Range) MarshalBinary() ([]byte, error) {
	if r.size > MaxSize {
		return nil, refuse("range", CodeSize)
	}
	b := make([]byte, 0, 9+len(Hash{})*bits.OnesCount64(r.size))
	b = append(b, rangeForm)
	b = binary.BigEndian.AppendUint64(b, r.size)
	for level := levels - 1; level >= 0; level-- {
		if r.size>>level&1 == 1 {
			b = append(b, r.node[level][:]...)
		}
	}
	return b, nil
}

// UnmarshalBinary reads the output of MarshalBinary and nothing else. On an error the range is unchanged. It cannot
// verify the hashes: compare Root with a signed root.
func (r *Range) UnmarshalBinary(b []byte) error {
	if len(b) < 9 || b[0] != rangeForm {
		return refuse("range", CodeFormat)
	}
	size, rest := binary.BigEndian.Uint64(b[1:9]), b[9:]
	if size > MaxSize {
		return refuse("range", CodeSize)
	}
	if len(rest) != len(Hash{})*bits.OnesCount64(size) {
		return refuse("range", CodeFormat)
	}
	read := Range{size: size}
	for level := levels - 1; level >= 0; level-- {
		if size>>level&1 == 1 {
			rest = rest[copy(read.node[level][:], rest):]
		}
	}
	*r = read
	return nil
}

// Resume returns the right edge of the tree of that size, read from its nodes.
func Resume(ctx context.Context, src Source, size uint64) (Range, error) {
	if size > MaxSize {
		return Range{}, refuse("range", CodeSize)
	}
	ids := compact.RangeNodes(0, size, nil)
	hashes, err := fetch(ctx, src, ids)
	if err != nil {
		return Range{}, err
	}
	r := Range{size: size}
	for i, id := range ids {
		r.node[id.Level] = hashes[i]
	}
	return r, nil
}

// fetch reads the nodes and checks their number.
func fetch(ctx context.Context, src Source, ids []compact.NodeID) ([]Hash, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	nodes := make([]Node, len(ids))
	for i, id := range ids {
		nodes[i] = Node(id)
	}
	hashes, err := src.Hashes(ctx, nodes)
	if err != nil {
		return nil, fmt.Errorf("tree: nodes: %w", err)
	}
	if len(hashes) != len(ids) {
		return nil, fmt.Errorf("tree: asked for %d nodes and got %d", len(ids), len(hashes))
	}
	return hashes, nil
}
