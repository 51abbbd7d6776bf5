// Package tree is the Merkle tree over the leaves of the chain: RFC 6962 with SHA-256.
//
// A Range is the right edge of a tree, which is enough for appending. Tiles hold the inner nodes in the layout of C2SP
// tlog-tiles. Proofs are built from any Source of nodes and verified without one.
//
// A proof shows the position of a leaf under a root. It does not show how many leaves the root covers: proofs of
// different sizes can have the same shape, so a size is only as trustworthy as the signed head that contains it.
package tree
