package compose

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain shows that a server which was stopped, or could not start, leaves nothing running.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
