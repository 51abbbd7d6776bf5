// Package threats shows that the real binary withstands what its threat and fault tables list. The comment above each
// test begins with the row that it is for.
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
