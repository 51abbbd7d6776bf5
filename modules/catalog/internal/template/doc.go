// Package template keeps templates, and makes requests for runs of what they say.
package template
