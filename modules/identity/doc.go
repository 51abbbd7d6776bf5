// Package identity authenticates callers and decides what they may do. It resolves bearer tokens, signs in users by
// password or at an outside provider, manages accounts, tokens, teams, organizations and grants, and makes the first
// admin of an install.
package identity
