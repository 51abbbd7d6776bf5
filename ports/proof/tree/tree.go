package tree

import (
	"context"
	"crypto/sha256"
)

// MaxSize bounds the leaves of a tree: some JSON readers cannot represent a larger integer.
const MaxSize = 1<<53 - 1

// Hash is the hash of a leaf or of a node.
type Hash = [32]byte

// EmptyRoot returns the root of a tree without leaves.
func EmptyRoot() Hash { return sha256.Sum256(nil) }

// NodeHash returns the hash of a node from the hashes of its children.
func NodeHash(left, right Hash) Hash {
	var b [1 + 2*len(left)]byte
	b[0] = 1
	copy(b[1:], left[:])
	copy(b[1+len(left):], right[:])
	return sha256.Sum256(b[:])
}

// Node names a complete subtree: the one of 1<<Level leaves with Index subtrees of its level to its left.
type Node struct {
	Level uint
	Index uint64
}

// Source provides the hashes of complete subtrees.
type Source interface {
	// Hashes returns the hash of each node, in their order. A missing node is an error.
	Hashes(ctx context.Context, nodes []Node) ([]Hash, error)
}

// Code names the flaw of a proof, a tile or a stored range. Every verifier reports the same one.
type Code string

// The codes, in the order of the checks.
const (
	CodeFormat Code = "format" // bytes or a path in an invalid form
	CodeSize   Code = "size"   // an index or a size beyond the tree, or beyond MaxSize
	CodeLength Code = "length" // a proof with too few or too many hashes
	CodeRoot   Code = "root"   // hashes that lead to another root
)

// Error is a refusal.
type Error struct {
	Code Code
	What string // the checked object: inclusion, consistency, range, tile, entries
}

// Error returns the refusal as a sentence.
func (e *Error) Error() string { return "tree: " + e.What + ": " + string(e.Code) }

func refuse(what string, code Code) error { return &Error{Code: code, What: what} }
