// Package ai asks a language model for advice and for proposals of runs, within bounds.
package ai
