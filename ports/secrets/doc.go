// Package secrets is the contract of what is kept sealed.
package secrets
