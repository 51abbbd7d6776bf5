package agents

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestBadPipes writes to "writ mcp" what is no message.
func TestBadPipes(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for name, c := range map[string]struct {
		in, want string
		code     int
	}{
		"nothing":   {"", "", 0},
		"a message": {ping + "\n", "", 0},
		"garbage":   {"garbage\n", "writ: speak with the agent: ", 1},
		"binary":    {"\x00\xff\n", "writ: speak with the agent: ", 1},
		"too large": {`{"x":"` + strings.Repeat("x", 300<<10), "writ: speak with the agent: ", 1},
	} {
		cmd := exec.Command(harness.Binary(t), "mcp")
		cmd.Env = []string{"HOME=" + t.TempDir(), "WRIT_SERVER=http://127.0.0.1:1"}
		var printed strings.Builder
		cmd.Stdin, cmd.Stderr = strings.NewReader(c.in), &printed
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.HasPrefix(printed.String(), c.want) ||
			strings.Count(printed.String(), "\n") > 1 {
			t.Errorf("%s: exit code %d, %q", name, code, printed.String())
		}
	}
}
