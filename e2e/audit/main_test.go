// Package audit checks with the real binary that every action is recorded, that a reader can verify the record without
// trust in the server, and that edits of the record are detected.
package audit

import (
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
