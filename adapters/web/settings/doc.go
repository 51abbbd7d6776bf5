// Package settings is the section of the web interface with people, access, tokens, credentials, and the state of
// the install.
package settings
