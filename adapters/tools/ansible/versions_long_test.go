//go:build long

package ansible_test

import (
	"testing"

	"github.com/writ-automation/writ/platform/ansibletest"
)

// TestOtherVersions leaves out vaults and paramiko where they need libraries in C that only the Python of the system
// has.
func TestOtherVersions(t *testing.T) {
	t.Parallel()
	ansibletest.Others(t, map[string][]string{"forky": {"TestVaultIDs", "TestHostKeysOfParamiko"}})
}
