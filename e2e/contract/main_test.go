// Package contract holds the real binary against the API's contract, sentence by sentence, as a client sees it.
package contract

import (
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
