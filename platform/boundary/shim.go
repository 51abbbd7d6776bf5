//go:build shim

package boundary

import _ "embed"

// shim is the program inside the boundary, packed by gzip. The Makefile builds it before this one.
//
//go:embed internal/shim/shim.gz
var shim []byte //nolint:gochecknoglobals // embedded
