// Package bundle writes and reads the bundle of the audit chain, application/vnd.writ.bundle+json: a window of the
// chain, or all of it, in one JSON document with all data for an offline check.
//
// The document has one spelling. Everything that a reader needs first precedes the entries, so both ends can stream:
// each holds only one entry, the proofs and the anchors. The manifest at the end covers every byte before it.
package bundle
