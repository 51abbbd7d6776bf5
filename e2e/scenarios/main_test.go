// Package scenarios tests user stories against the real binary, on both engines.
package scenarios

import (
	"flag"
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Some of these tests wait for leases or for processes that end slowly, and they may wait at the same time.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m))
}
