// Package threats shows that the real binary withstands what its threat and fault tables list. The comment above each
// test begins with the row that it is for.
package threats

import (
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
