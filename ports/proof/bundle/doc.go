// Package bundle writes and reads the bundle of the audit chain, application/vnd.writ.bundle+json: a window of it, or
// all of it, in one JSON document with everything that a reader needs to check it offline.
//
// The document has one spelling. What a reader has to know beforehand stands before the entries, so that both ends
// stream: neither holds more than one entry, the proofs and the anchors. The manifest at the end covers every byte
// before it.
package bundle
