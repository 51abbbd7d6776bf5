// Package contract tests the real binary against each statement of the API's contract.
package contract

import (
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
