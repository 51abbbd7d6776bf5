// Package timestamp reads tokens of time-stamping authorities (RFC 3161) and verifies who signed them.
//
// Parse believes nobody: what it returns is what the token says. Verify checks the CMS signature and the certificate of
// the authority under roots that the reader gives.
package timestamp
