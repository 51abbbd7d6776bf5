// Package identity knows who calls: it resolves bearer tokens, mints and revokes them, and makes a fresh install usable.
package identity
