//go:build !shim

package boundary

// shim is empty in a binary that was built without: it is the program inside the boundary itself.
var shim []byte //nolint:gochecknoglobals // embedded in the other file
