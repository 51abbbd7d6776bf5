// Package receipt writes and reads the receipt of a run, application/vnd.writ.receipt+json: the entries that speak of
// the run, proofs that they are under a signed head, and the digest of what the run left behind, in one signed
// statement.
//
// It is an in-toto Statement v1 in a DSSE envelope. Everything in it has one spelling, that of RFC 8785.
package receipt
