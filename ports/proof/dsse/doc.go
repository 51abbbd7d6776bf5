// Package dsse writes and reads DSSE envelopes: a payload, its type and signatures over both. Receipts and manifests
// are in-toto Statements in such an envelope; seal.json carries one over the rest of itself.
//
// A signature covers the pre-authentication encoding (PAE), which separates payload and type unambiguously. The
// trusted key alone determines the algorithm; the file has no influence on it.
package dsse
