//go:build long

package setup

import (
	"path/filepath"
	"testing"
)

func TestExampleFailsOnRequest(t *testing.T) {
	t.Parallel()
	out, code := play(t, filepath.Join(t.TempDir(), "hosts"), "break_host=web2")
	if code != 2 {
		t.Errorf("exit code %d, want 2:\n%s", code, out)
	}
	if recap(t, out, "web2")["failed"] != "1" || recap(t, out, "web1")["failed"] != "0" {
		t.Errorf("web2 alone should fail:\n%s", out)
	}
}
