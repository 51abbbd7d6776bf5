package compose

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that no goroutine remains of a server that was stopped or could not start.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
