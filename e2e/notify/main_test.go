// Package notify tests notifications of runs with the real binary and receivers that are real servers.
//
// The addresses of two kinds are fixed, so that no receiver of a test can replace them: here pagerduty and twilio are
// planned, skipped and refused, and the tests of adapters/notify check their messages. The standard binary has no
// notifiers of extensions; modules/notify tests them.
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
	if err := flag.Set("test.parallel", "10"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m))
}
