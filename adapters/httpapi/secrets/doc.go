// Package secrets is the REST API for credentials and their custom types. Requests contain secrets, answers never do:
// they only report whether a credential has one.
package secrets
