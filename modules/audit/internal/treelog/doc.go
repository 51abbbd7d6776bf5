// Package treelog is the tree over the stored chain: its roots, its proofs and the tiles that make both cheap.
//
// Nothing here decides whom to believe. What it returns is as true as the store is, and whoever signs or proves
// compares it with heads that were seen before.
//
// Its boundary: the tiles, which only it reads and writes.
package treelog
