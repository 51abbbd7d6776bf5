// Package view makes the form of a run that may leave the context: the record with its secrets taken out.
package view
