//go:build long

package depthtest

// Long reports whether the tests were built for "make test-long".
const Long = true
