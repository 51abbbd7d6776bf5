// Package catalog tests templates, schedules, triggers and other objects of the catalog against the real binary.
package catalog

import (
	"flag"
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Some of these tests wait for the clock to reach the next minute. Many begin at once, so that they wait for the same
	// one, but not so many that two processors leave their servers without an answer.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	os.Exit(harness.Main(m))
}
