// Package servertargets holds the targets that the server's flags name, which hear of every run.
package servertargets
