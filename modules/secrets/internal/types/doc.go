// Package types judges custom types of credentials, and the credentials that are of one.
package types
