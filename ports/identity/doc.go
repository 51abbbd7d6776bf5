// Package identity is the contract of accounts, tokens, grants and the authorizer. Each operation declares the
// permission that it needs, and only the authorizer decides.
package identity
