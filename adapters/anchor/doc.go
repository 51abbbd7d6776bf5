// Package anchor takes the heads of the audit trail to where the database cannot reach: a file beside the signing
// key, the directory of a worker, an authority that stamps the time (RFC 3161) and a witness that follows the log (C2SP
// tlog-witness).
package anchor
