package tree

import (
	"context"
	"crypto/sha256"
)

// MaxSize is how many leaves a tree may have: a larger number is no integer to every reader of JSON.
const MaxSize = 1<<53 - 1

// Hash is the hash of a leaf or of a node.
type Hash = [32]byte

// EmptyRoot returns the root of a tree without leaves.
func EmptyRoot() Hash { return sha256.Sum256(nil) }

// NodeHash returns the hash of a node by those of its children.
func NodeHash(left, right Hash) Hash {
	var b [1 + 2*len(left)]byte
	b[0] = 1
	copy(b[1:], left[:])
	copy(b[1+len(left):], right[:])
	return sha256.Sum256(b[:])
}

// Node names a complete subtree: the one of 1<<Level leaves that has Index others of its level to its left.
type Node struct {
	Level uint
	Index uint64
}

// Source has the hashes of complete subtrees.
type Source interface {
	// Hashes returns the hash of each node, in their order. A node that it does not have is an error.
	Hashes(ctx context.Context, nodes []Node) ([]Hash, error)
}

// Code names why a proof, a tile or a stored range is refused. Every verifier finds the same one.
type Code string

// The codes, in the order in which they are looked for.
const (
	CodeFormat Code = "format" // bytes or a path that nothing here writes
	CodeSize   Code = "size"   // an index or a size beyond the tree, or beyond MaxSize
	CodeLength Code = "length" // a proof with too few or too many hashes
	CodeRoot   Code = "root"   // hashes that do not lead to the root
)

// Error says why something is refused.
type Error struct {
	Code Code
	What string // what was looked at: inclusion, consistency, range, tile, entries
}

// Error returns both in a sentence.
func (e *Error) Error() string { return "tree: " + e.What + ": " + string(e.Code) }

func refuse(what string, code Code) error { return &Error{Code: code, What: what} }
