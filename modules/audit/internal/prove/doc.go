// Package prove makes what can be checked without the server: verdicts over the stored chain, bundles, receipts and
// seal.json.
//
// Its boundary: it reads the stores and changes nothing of them.
package prove
