//go:build race

package audit_test

import "github.com/writ-automation/writ/ports/depthtest"

// longChain is shorter with the race detector, which is ten times slower; that run checks races and not memory.
var longChain = depthtest.Of[int64](1_000, 5_000)
