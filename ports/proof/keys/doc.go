// Package keys holds the keys that the audit trail is signed with: their ids, the sizes of the tree for which each of
// them may speak, the seal.json that publishes them and the pins by which a reader remembers them.
//
// A key is identified by the SHA-256 of its SubjectPublicKeyInfo, which names the algorithm too. Verification takes the
// algorithm from the key that is trusted and never from what is verified. All cryptography is the standard library's.
//
// Everything that is read has one form only: text is taken back to bytes after parsing and has to be the same.
package keys
