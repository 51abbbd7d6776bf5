// Package tree is the Merkle tree over the leaves of the chain: RFC 6962 with SHA-256.
//
// A Range is the right edge of a tree, which is all that growing takes. Tiles hold the inner nodes in the layout of
// C2SP tlog-tiles. Proofs are built from any Source of nodes and are checked without one.
//
// A proof says where a leaf is under a root. It does not say how many leaves the root covers: some sizes share the
// shape of a proof, so that a size is only worth as much as the signed head that it was read from.
package tree
