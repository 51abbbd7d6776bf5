package evaluate_test

import (
	"os"
	"testing"

	"github.com/writ-automation/writ/ports/depthtest"
)

// TestMain draws 1,000 random sets of policies, and 20,000 in long tests.
func TestMain(m *testing.M) {
	depthtest.Checks("1000", "20000")
	os.Exit(m.Run())
}
