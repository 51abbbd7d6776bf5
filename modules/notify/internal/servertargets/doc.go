// Package servertargets holds the targets of the server's flags, which apply to every run.
package servertargets
