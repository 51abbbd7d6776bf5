// Package dsse writes and reads DSSE envelopes: a payload, its type and signatures over both. Receipts and manifests
// are in-toto Statements in such an envelope; seal.json carries one over the rest of itself.
//
// A signature covers the pre-authentication encoding (PAE), in which payload and type cannot be mistaken for each
// other. Which algorithm verifies it is a matter of the trusted key; nothing in the file has a say in it.
package dsse
