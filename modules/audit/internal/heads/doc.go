// Package heads looks after the signed heads of the chain and what belongs to them: anchors, the keys that sign them,
// epochs after a rollback, erasure, and the heads that workers hold. Its boundary: it changes what the install says
// of its chain, one unit at a time, and reads entries only through the tree.
package heads
