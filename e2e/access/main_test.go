// Package access shows, against the real binary, who may do what and how soon that changes: accounts, sessions, grants,
// several servers, TLS and proxies.
package access

import (
	"flag"
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Some of these tests wait for times that are promised, and may do so together.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m))
}
