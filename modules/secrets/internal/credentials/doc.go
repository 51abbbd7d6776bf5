// Package credentials keeps credentials and their custom types: who may, what is sealed of them, and what still needs
// them.
//
// A credential may have secrets and a source at once. The source rules, and what is stored fills what it does not
// give. Secrets stay with their kind or type, and those of a source with its engine and the address that they were
// given for.
package credentials
