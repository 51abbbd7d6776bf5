// Package trigger keeps triggers. Their tokens and signing secrets are made here and shown once: a token is kept as
// its hash, a secret sealed.
package trigger
