// Package proof verifies the files of the audit trail without a server, a database or a network: bundles of the chain
// and receipts of runs. Anybody may build a verifier on it; cmd/writ-verify is one.
//
// [VerifyFile] takes a file of either kind and the keys and heads that the reader trusts. It reports every step: a
// step without a result has failed, and unchecked properties are listed. Of the contents of a file the report contains
// only numbers, key ids, origins and the ids and kinds of anchors, whose forms are checked.
//
// The packages below implement the formats, each with its writer and its reader: leaf and disclosure (an entry and its
// private values), tree (RFC 6962), checkpoint and keys (signed heads and their signers), dsse (statements and
// seal.json), bundle and receipt (the files). docs/reference/audit-formats.md describes them byte by byte.
package proof
