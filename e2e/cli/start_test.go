package cli

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestInitialisation bounds what the packages of this module do before main, since every command waits for it. What
// they allocate is the same each time.
func TestInitialisation(t *testing.T) {
	t.Parallel()
	const most = 400 // allocations of one package; the list of all stores makes 338
	cmd := exec.CommandContext(t.Context(), harness.Binary(t), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("writ version: %v\n%s", err, out)
	}
	form := regexp.MustCompile(`(?m)^init (github\.com/writ-automation/writ/\S+) @.* (\d+) allocs$`)
	packages := form.FindAllSubmatch(out, -1)
	if len(packages) < 20 {
		t.Fatalf("the trace names %d packages of this module:\n%s", len(packages), out)
	}
	for _, m := range packages {
		if n, err := strconv.Atoi(string(m[2])); err != nil || n > most {
			t.Errorf("the initialisation of %s makes %s allocations, of which %d are allowed", m[1], m[2], most)
		}
	}
}
