//go:build race

package audit_test

import "github.com/writ-automation/writ/ports/depthtest"

// longChain is shorter where everything takes ten times as long; then it shows races and little about memory.
var longChain = depthtest.Of[int64](1_000, 5_000)
