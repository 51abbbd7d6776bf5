// Package secrets is the REST surface of what is kept sealed: credentials and their custom types. A request holds
// secrets and no answer does: credentials read back with whether they have one.
package secrets
