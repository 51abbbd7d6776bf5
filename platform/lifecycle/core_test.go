package lifecycle_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/writ-automation/writ/platform/lifecycle"
)

// TestNoCoreDumps checks the limit in a child process.
func TestNoCoreDumps(t *testing.T) {
	if err := lifecycle.NoCoreDumps(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "ulimit -S -c; ulimit -H -c").Output()
	if got := strings.Fields(string(out)); err != nil || len(got) != 2 || got[0] != "0" || got[1] != "0" {
		t.Errorf("%q, %v", out, err)
	}
}
