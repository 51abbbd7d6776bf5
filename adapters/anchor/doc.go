// Package anchor stores and certifies heads of the audit trail outside of the database: in a file next to the signing
// key, in the directory of a worker, with an authority that stamps the time (RFC 3161) and with a witness that follows
// the log (C2SP tlog-witness).
package anchor
