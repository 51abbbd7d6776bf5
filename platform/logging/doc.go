// Package logging makes the process's structured log, and keeps secrets out of it.
//
// There are three layers: values of type secret.Text print as asterisks, attributes with the name of a secret lose
// their value, and texts that look like a bearer token or a password in a URL are removed from every message.
package logging
