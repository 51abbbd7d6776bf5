// Package record derives documents from the record of a run: the redacted form, the digests and the comparison with
// another run. It depends on its arguments only: it reads no store and changes no record.
package record
