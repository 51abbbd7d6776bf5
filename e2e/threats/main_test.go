// Package threats tests the real binary against the threats and faults of docs/reference/promises.md.
package threats

import (
	"flag"
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Some of these tests wait for bounds to pass, and they may wait at the same time.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m))
}
