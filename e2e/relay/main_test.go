// Package relay tests workers in processes of their own, over the relay and over the database, against the real binary.
package relay

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Most of these tests wait for leases to end, and they may wait at the same time. A server with the race detector
	// takes several times as long to start: with ten beside each other, a restart takes longer than a lease.
	if err := flag.Set("test.parallel", strconv.Itoa(depthtest.Of(10, 4))); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m))
}
