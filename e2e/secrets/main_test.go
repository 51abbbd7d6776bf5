// Package secrets_test tells the stories of what is kept sealed and of who gets it, against the real binary.
package secrets_test

import (
	"flag"
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// These tests wait for runs and engines more than they compute.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m))
}
