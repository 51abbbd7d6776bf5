// Package wire is the protocol between Writ and the processes of a plugin. Plugins in Go are written with the package
// above.
package wire
