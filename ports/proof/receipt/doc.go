// Package receipt writes and reads the receipt of a run, application/vnd.writ.receipt+json: the entries of the run,
// proofs of their inclusion under a signed head, and the digest of the run's results, in one signed statement.
//
// It is an in-toto Statement v1 in a DSSE envelope. Everything in it has one spelling, the canonical form of RFC 8785.
package receipt
