// Package access tests permissions and how soon changes of them take effect, against the real binary: accounts,
// sessions, grants, several servers, TLS and proxies.
package access

import (
	"flag"
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Some of these tests wait for documented times, and may run in parallel.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m))
}
