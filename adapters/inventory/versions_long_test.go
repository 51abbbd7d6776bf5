//go:build long

package inventory_test

import (
	"testing"

	"github.com/writ-automation/writ/platform/ansibletest"
)

func TestOtherVersions(t *testing.T) {
	t.Parallel()
	ansibletest.Others(t, nil)
}
