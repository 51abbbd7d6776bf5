// Package proof verifies what the audit trail hands out, without a server, a database or a network: bundles of the
// chain and receipts of runs. Anybody may build a verifier on it; cmd/writ-verify is one.
//
// [VerifyFile] takes a file of either kind and what the reader trusts. Every step is reported and none is skipped in
// silence: what is not shown has failed, and what was not looked at is named. Nothing that a file holds reaches the
// report except numbers, key ids, origins and the ids and kinds of anchors, whose forms are checked.
//
// The packages below hold the formats, each with its writer and its reader: leaf and disclosure (an entry and its
// private values), tree (RFC 6962), checkpoint and keys (signed heads and who signs them), dsse (statements and
// seal.json), bundle and receipt (the files). docs/reference/audit-formats.md describes them byte by byte.
package proof
