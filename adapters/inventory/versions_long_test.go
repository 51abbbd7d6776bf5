//go:build long

package inventory_test

import (
	"testing"

	"github.com/writ-automation/writ/platform/ansibletest"
)

func TestOtherVersions(t *testing.T) {
	t.Parallel()
	// The Python of the newest may lie in a home directory, which the accounts of runs cannot reach.
	ansibletest.Others(t, map[string][]string{"forky": {"TestBox"}})
}
