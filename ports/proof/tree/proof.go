package tree

import (
	"context"
	"errors"
	"math/bits"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
)

// Inclusion returns the proof that the leaf with this zero-based index is in the tree of that size, from the leaf's
// sibling upwards.
func Inclusion(ctx context.Context, src Source, index, size uint64) ([]Hash, error) {
	if index >= size || size > MaxSize {
		return nil, refuse("inclusion", CodeSize)
	}
	nodes, err := proof.Inclusion(index, size)
	if err != nil {
		return nil, err
	}
	return build(ctx, src, nodes)
}

// Consistency returns the proof that the tree of size to begins with the tree of size from. It is empty for the empty
// tree and for equal sizes.
func Consistency(ctx context.Context, src Source, from, to uint64) ([]Hash, error) {
	if from > to || to > MaxSize {
		return nil, refuse("consistency", CodeSize)
	}
	nodes, err := proof.Consistency(from, to)
	if err != nil {
		return nil, err
	}
	return build(ctx, src, nodes)
}

func build(ctx context.Context, src Source, nodes proof.Nodes) ([]Hash, error) {
	hashes, err := fetch(ctx, src, nodes.IDs)
	if err != nil {
		return nil, err
	}
	path, err := nodes.Rehash(raw(hashes), rfc6962.DefaultHasher.HashChildren)
	if err != nil {
		return nil, err
	}
	out := make([]Hash, len(path))
	for i := range path {
		out[i] = Hash(path[i])
	}
	return out, nil
}

// raw returns copies of the hashes in the form of the library, which may change them.
func raw(hashes []Hash) [][]byte {
	out := make([][]byte, len(hashes))
	for i, h := range hashes {
		out[i] = h[:]
	}
	return out
}

// VerifyInclusion checks that the leaf is at this zero-based index under the root of that size. The proof must have
// exactly the number of hashes that index and size require.
func VerifyInclusion(leaf Hash, index, size uint64, path []Hash, root Hash) error {
	const what = "inclusion"
	if index >= size || size > MaxSize {
		return refuse(what, CodeSize)
	}
	return verdict(what, proof.VerifyInclusion(rfc6962.DefaultHasher, index, size, leaf[:], raw(path), root[:]))
}

// VerifyConsistency checks by their roots that the tree of size to begins with the tree of size from. The proof must
// have exactly the number of hashes that the sizes require.
func VerifyConsistency(from, to uint64, fromRoot, toRoot Hash, path []Hash) error {
	const what = "consistency"
	if from > to || to > MaxSize {
		return refuse(what, CodeSize)
	}
	if err := verdict(what, proof.VerifyConsistency(rfc6962.DefaultHasher, from, to, raw(path), fromRoot[:],
		toRoot[:])); err != nil {
		return err
	}
	// The library accepts any root of the empty tree.
	if from == 0 && fromRoot != EmptyRoot() {
		return refuse(what, CodeRoot)
	}
	return nil
}

// verdict distinguishes a proof of the wrong length from one to another root.
func verdict(what string, err error) error {
	var mismatch proof.RootMismatchError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &mismatch):
		return refuse(what, CodeRoot)
	}
	return refuse(what, CodeLength)
}

// Before returns the right edge of the tree that ends before the leaf with this zero-based index, from the leaf's
// inclusion proof in the tree of that size: the left siblings on its path are the complete subtrees of that tree.
// Verify the proof first, since the result depends on it.
func Before(index, size uint64, path []Hash) (Range, error) {
	if index >= size || size > MaxSize {
		return Range{}, refuse("range", CodeSize)
	}
	inner := bits.Len64(index ^ (size - 1))
	if len(path) != inner+bits.OnesCount64(index>>inner) {
		return Range{}, refuse("range", CodeLength)
	}
	r := Range{size: index}
	next := inner // above the inner levels the proof has only the left siblings
	for level := range levels {
		switch {
		case index>>level&1 == 0:
		case level < inner:
			r.node[level] = path[level]
		default:
			r.node[level] = path[next]
			next++
		}
	}
	return r, nil
}
