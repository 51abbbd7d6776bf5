// Package identity knows who calls and what they may do: it resolves bearer tokens, signs in by password or for an
// outside provider, keeps accounts, tokens, teams, organizations and grants, and makes a fresh install usable.
package identity
