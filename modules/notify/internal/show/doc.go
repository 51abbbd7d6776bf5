// Package show makes the form of a run that is sent to others: no value of its variables is in it, nor what equals
// one that is a secret.
package show
