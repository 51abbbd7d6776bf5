// Package timestamp reads tokens of time-stamping authorities (RFC 3161) and verifies their signatures.
//
// Parse verifies nothing: it returns the contents of the token. Verify checks the CMS signature and the certificate of
// the authority under the reader's roots.
package timestamp
