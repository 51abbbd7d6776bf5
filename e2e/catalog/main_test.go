// Package catalog tells the stories of what people launch and of what launches it, against the real binary.
package catalog

import (
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
