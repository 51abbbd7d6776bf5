// Package provide fetches the secrets of a run and writes the reason of a failure. The executor and the relay share
// it, so that a panic of a secret engine fails the same way on both sides and never shows a secret.
package provide
