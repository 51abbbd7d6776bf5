// Package show returns the public form of a run, without values of its variables and without texts that equal a secret
// one.
package show
