// Package audit shows, against the real binary, that everything that is done is recorded, that the record can be
// checked by who trusts nobody, and that whoever edits it is found out.
package audit

import (
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
