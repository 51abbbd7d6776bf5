// Package logging makes the process's structured log, and keeps secrets out of it.
//
// Three nets lie under each other: values of type secret.Text print as asterisks, attributes whose name says that
// they hold a secret lose their value, and what looks like a bearer token or a password in a URL is cut out of every
// text.
package logging
