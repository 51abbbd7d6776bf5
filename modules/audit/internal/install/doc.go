// Package install is who the install is to those who verify its trail: its id, its epochs, its keys and its heads.
//
// It signs committed heads alone, and no two heads that one log cannot have: what it signs continues what it signed
// before and what the store keeps of signed heads.
//
// Its boundary: it alone holds the private keys.
package install
