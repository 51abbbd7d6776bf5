// Package prove makes verdicts over the stored chain, bundles, receipts and seal.json, which can be checked without
// the server.
//
// Its boundary: it reads the stores and writes nothing.
package prove
