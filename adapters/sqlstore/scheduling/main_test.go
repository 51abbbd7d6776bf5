package scheduling_test

import (
	"os"
	"testing"

	"github.com/writ-automation/writ/ports/depthtest"
)

func TestMain(m *testing.M) {
	depthtest.Checks("30", "100") // each draw runs several statements on both databases
	os.Exit(m.Run())
}
