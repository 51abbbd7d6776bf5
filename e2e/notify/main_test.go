// Package notify tests notifications of runs with the real binary and receivers that are real servers.
//
// The addresses of two kinds are fixed, so that no receiver of a test can stand in for them: here pagerduty and
// twilio are planned, skipped and refused; what is sent to them is shown by the tests of adapters/notify. Notifiers
// of extensions are not in the binary that users get; modules/notify tries them out.
package notify

import (
	"flag"
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// These tests wait for pauses between tries, and may do so together.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m))
}
