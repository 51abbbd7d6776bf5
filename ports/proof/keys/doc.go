// Package keys manages the signing keys of the audit trail: their ids, the tree sizes for which they are valid, the
// seal.json that publishes them and the pins of a reader.
//
// The id of a key is the SHA-256 of its SubjectPublicKeyInfo, which includes the algorithm. Verification uses the
// algorithm of the trusted key, never one from the verified data. All cryptography is in the standard library.
//
// Every format has one spelling: the parsed value is encoded again and has to give the same bytes.
package keys
