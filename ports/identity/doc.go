// Package identity is the contract of who somebody is and what they may do: accounts, tokens and the one
// authorizer. Every operation declares what it needs; nothing else decides.
package identity
