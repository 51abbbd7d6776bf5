// Package credentials manages credentials and their custom types: who may access them, which secrets are sealed, and
// what references them.
//
// A credential may have secrets and a source at the same time. The source takes precedence, and the stored secrets
// supply what it does not. Stored secrets are bound to their kind or type, and those of a source to its engine and
// address.
package credentials
