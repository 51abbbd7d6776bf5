// Package auth is the section of the web interface with signing in and out, the first minute, and the own account.
package auth
