// Package trigger manages triggers. It creates their tokens and signing secrets, which are shown once; it stores the
// hash of a token and the sealed form of a secret.
package trigger
