// Package goplugin is the host of plugins: it finds the executables of a directory, starts each in a box of its own,
// asks what it provides, and starts it again when it ends. Its calls are bounded in time, number and size, and nothing
// that a plugin does or answers is trusted.
//
// Of go-plugin it uses the handshake with mutual TLS alone. The connection is its own: that of go-plugin has streams
// whose messages nothing bounds.
package goplugin
