// Package treelog is the tree over the stored chain: its roots, its proofs and the tiles that speed up both.
//
// It trusts the store. Callers that sign or prove compare its results with heads that were seen before.
//
// Its boundary: no other package reads or writes the tiles.
package treelog
