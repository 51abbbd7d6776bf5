// Package install manages the identity of the install: its id, its epochs, its keys and its heads.
//
// It signs only committed heads that continue the heads that it signed before and the signed heads in the store.
//
// Its boundary: no other package holds the private keys.
package install
