// Package relay tests workers in processes of their own, over the relay and over the database, against the real binary.
package relay

import (
	"flag"
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Most of these tests wait for leases to end, and they may wait at the same time.
	if err := flag.Set("test.parallel", "10"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m))
}
