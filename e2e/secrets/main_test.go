// Package secrets_test tests credentials and their use by runs against the real binary.
package secrets_test

import (
	"flag"
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// These tests mostly wait for runs and engines.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m))
}
