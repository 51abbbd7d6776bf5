package script_test

import (
	"bytes"
	"testing"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/adapters/tools/script"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
)

// runner returns a supervisor of processes that ends with the test.
func runner(t *testing.T) *proc.Runner {
	t.Helper()
	r, err := proc.New(proc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestBash(t *testing.T) {
	t.Parallel()
	extensiontest.Tool{
		Runner: script.Bash(runner(t)),
		Env:    map[string]string{"PATH": "/usr/bin:/bin"},
		Scripts: extensiontest.Scripts{
			Exit7: "exit 7", Text: `printf 'first\nlast'`, Dir: "pwd", Touch: "touch touched", Broken: "if",
			Burst:    `head -c 1048576 /dev/zero | tr '\0' x; printf end`,
			Environ:  "cat /proc/$$/environ",
			Tree:     "setsid sleep 300 & echo $! >pid; sleep 300",
			Leftover: "setsid sleep 300 & echo $! >pid",
		},
	}.Run(t)
}

func TestTheFirstFailureEndsABashScript(t *testing.T) {
	t.Parallel()
	b := script.Bash(runner(t))
	for _, text := range []string{"false; echo later", "false | true; echo later"} {
		var out bytes.Buffer
		res, err := b.Run(t.Context(), extension.ToolSpec{
			Command: text, Dir: t.TempDir(), Env: map[string]string{"PATH": "/usr/bin:/bin"},
		}, &out)
		if err != nil || res.ExitCode != 1 || out.Len() > 0 {
			t.Errorf("%s: %v, %v, %q", text, res, err, &out)
		}
	}
}
