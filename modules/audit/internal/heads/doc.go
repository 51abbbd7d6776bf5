// Package heads manages the signed heads of the chain and related data: anchors, signing keys, epochs after a
// rollback, erasure, and the heads that workers store. Its boundary: it changes the identity data of the install, one
// unit at a time, and reads entries only through the tree.
package heads
