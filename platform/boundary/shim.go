//go:build shim

package boundary

import _ "embed"

// shim is the program inside the boundary, which the Makefile builds before this one.
//
//go:embed internal/shim/shim
var shim []byte //nolint:gochecknoglobals // embedded
